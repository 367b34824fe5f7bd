#include "collectives/schedules/replay.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

#include "base/error.hpp"

namespace dse::synthesis {

namespace {

/// Draws that are computed at a time: their values of one step fill a line of the cache.
constexpr std::size_t kLanes = 8;

/// The values of `kLanes` draws: arrivals by place, and when links are free.
struct ReplayBlock {
    ReplayBlock(std::size_t steps, std::size_t links) : arrived(steps * kLanes), free_from(links * kLanes) {}

    std::vector<std::int64_t> arrived;
    std::vector<std::int64_t> free_from;
    std::vector<std::int64_t> arrival, held;  ///< durations by link, copied side by side
};

void copy_lanes(std::span<const std::int64_t> rows, std::size_t draws, std::size_t first, std::size_t lanes,
                std::vector<std::int64_t>& block) {
    const std::size_t count = rows.size() / draws;
    block.assign(count * kLanes, 0);
    for (std::size_t row = 0; row < count; ++row)
        std::copy_n(rows.data() + row * draws + first, lanes, block.data() + row * kLanes);
}

void load(const Durations& durations, std::size_t first, std::size_t lanes, ReplayBlock& block) {
    copy_lanes(durations.arrival, durations.draws, first, lanes, block.arrival);
    if (!durations.held.empty()) copy_lanes(durations.held, durations.draws, first, lanes, block.held);
}

void play(const std::vector<Replay::Step>& steps, bool per_send, ReplayBlock& block) {
    std::int64_t* const arrived = block.arrived.data();
    const std::int64_t* const helds = block.held.empty() ? block.arrival.data() : block.held.data();
    std::fill(block.free_from.begin(), block.free_from.end(), 0);
    static constexpr std::int64_t kZeros[kLanes] = {};
    for (std::size_t place = 0; place < steps.size(); ++place) {
        const Replay::Step& step = steps[place];
        std::int64_t* const own = arrived + place * kLanes;
        const std::int64_t* const after =
            step.after == Replay::kNone ? kZeros : arrived + std::size_t{step.after} * kLanes;
        if (step.link == Replay::kNone) {
            const std::int64_t* const other = arrived + std::size_t{step.other} * kLanes;
            for (std::size_t lane = 0; lane < kLanes; ++lane) own[lane] = std::max(after[lane], other[lane]);
            continue;
        }
        const std::size_t row = std::size_t{per_send ? step.other : step.link} * kLanes;
        std::int64_t* const free_from = block.free_from.data() + std::size_t{step.link} * kLanes;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const std::int64_t start = std::max(after[lane], free_from[lane]);
            own[lane] = start + block.arrival[row + lane];
            free_from[lane] = start + helds[row + lane];
        }
    }
}

/// The place of a draw's last arrival; of several the first.
std::size_t last_place(const std::vector<Replay::Step>& steps, const ReplayBlock& block, std::size_t lane) {
    std::size_t last = 0;
    for (std::size_t place = 0; place < steps.size(); ++place)
        if (block.arrived[place * kLanes + lane] > block.arrived[last * kLanes + lane]) last = place;
    return last;
}

/// Walks from the last arrival back to time 0, along what each send waited for.
void follow(const std::vector<Replay::Step>& steps, bool per_send, const ReplayBlock& block, std::size_t lane,
            std::vector<std::uint32_t>& seen, std::uint32_t mark, Criticality& criticality) {
    const std::vector<std::int64_t>& helds = block.held.empty() ? block.arrival : block.held;
    const auto at = [&](std::size_t place) { return block.arrived[place * kLanes + lane]; };
    bool is_arrival =
        true;  // whether the path leaves this step when it has arrived, or when its link is free
    for (std::size_t place = last_place(steps, block, lane);;) {
        const Replay::Step& step = steps[place];
        if (step.link == Replay::kNone) {
            place = at(step.after) >= at(step.other) ? step.after : step.other;
            continue;
        }
        const std::size_t row = std::size_t{per_send ? step.other : step.link} * kLanes + lane;
        const std::int64_t start = at(place) - block.arrival[row];
        criticality.path_ps[step.link] += is_arrival ? block.arrival[row] : helds[row];
        ++(is_arrival ? criticality.arrivals : criticality.waits)[step.link];
        if (seen[step.link] != mark) ++criticality.draws[step.link];
        seen[step.link] = mark;
        is_arrival = step.after != Replay::kNone && at(step.after) == start;
        const std::uint32_t before = is_arrival ? step.after : step.link_order;
        if (start == 0 || before == Replay::kNone) return;
        place = before;
    }
}

}  // namespace

/// Puts sends into an order of places, with a join where a send waits for several arrivals.
class Replay::Builder {
public:
    Builder(Replay& replay, std::int64_t chunks, const NominalSends& sends,
            std::span<const std::int64_t> holdings, bool sums)
        : replay_(replay), chunks_(chunks), sends_(sends), holdings_(holdings), sums_(sums) {}

    void build() {
        sort_arrivals();
        place_of_.assign(sends_.link.size(), kNone);
        joined_.assign(sends_.link.size(), kNone);
        last_of_link_.assign(replay_.links_, kNone);
        std::vector<std::uint32_t> order = numbers();
        std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            return std::tie(sends_.start[a], sends_.end[a], a) < std::tie(sends_.start[b], sends_.end[b], b);
        });
        for (std::size_t first = 0; first < order.size();) {
            std::size_t last = first;
            while (last < order.size() && sends_.start[order[last]] == sends_.start[order[first]]) ++last;
            place_together({order.data() + first, last - first});
            first = last;
        }
    }

private:
    std::vector<std::uint32_t> numbers() const {
        std::vector<std::uint32_t> all(sends_.link.size());
        std::iota(all.begin(), all.end(), 0U);
        return all;
    }

    std::int64_t key(std::int32_t node, std::uint32_t send) const {
        return std::int64_t{node} * chunks_ + sends_.chunk[send];
    }

    /// Arrivals by node and chunk, each group in order of time.
    void sort_arrivals() {
        arrivals_ = numbers();
        std::sort(arrivals_.begin(), arrivals_.end(), [&](std::uint32_t a, std::uint32_t b) {
            const std::int64_t key_a = key(sends_.to[a], a), key_b = key(sends_.to[b], b);
            return std::tie(key_a, sends_.end[a], sends_.start[a], a) <
                   std::tie(key_b, sends_.end[b], sends_.start[b], b);
        });
    }

    /// Sends that start at one time: those of 0 ps may wait for each other, so in rounds.
    void place_together(std::span<std::uint32_t> together) {
        while (!together.empty()) {
            std::size_t waiting = 0;
            for (const std::uint32_t send : together)
                if (!place(send)) together[waiting++] = send;
            if (waiting == together.size()) fail(together.front());
            together = together.first(waiting);
        }
    }

    [[noreturn]] void fail(std::uint32_t send) const {
        throw InputError("the send of chunk " + std::to_string(sends_.chunk[send]) + " from " +
                         std::to_string(sends_.from[send]) + " to " + std::to_string(sends_.to[send]) +
                         " at " + std::to_string(sends_.start[send]) +
                         " ps leaves before its chunk is there; a schedule sends what has arrived");
    }

    bool place(std::uint32_t send) {
        std::uint32_t after = kNone;
        if (!find_source(send, after)) return false;
        const auto link = static_cast<std::uint32_t>(sends_.link[send]);
        place_of_[send] = static_cast<std::uint32_t>(replay_.steps_.size());
        replay_.steps_.push_back({link, after, send, last_of_link_[link]});
        last_of_link_[link] = place_of_[send];
        return true;
    }

    /// The place after which the sender has what it sends; false if that has no place yet.
    bool find_source(std::uint32_t send, std::uint32_t& after) {
        const std::int64_t wanted = key(sends_.from[send], send);
        if (std::binary_search(holdings_.begin(), holdings_.end(), wanted)) return true;
        const auto group = std::lower_bound(arrivals_.begin(), arrivals_.end(), wanted,
                                            [&](std::uint32_t arrival, std::int64_t value) {
                                                return key(sends_.to[arrival], arrival) < value;
                                            });
        const auto is_there = [&](auto at) {
            return at != arrivals_.end() && key(sends_.to[*at], *at) == wanted &&
                   sends_.end[*at] <= sends_.start[send];
        };
        if (!is_there(group))
            return sums_;  // the first arrival is too late; a contribution of its own it has
        if (!sums_) {
            after = place_of_[*group];
            return after != kNone;
        }
        auto last = group;
        for (auto at = group; is_there(at); ++at) {
            if (place_of_[*at] == kNone) return false;
            last = at;
        }
        after = join(static_cast<std::size_t>(group - arrivals_.begin()),
                     static_cast<std::size_t>(last - arrivals_.begin()));
        return true;
    }

    /// The place at which all arrivals of a group from `first` to `last` are there.
    std::uint32_t join(std::size_t first, std::size_t last) {
        std::size_t done = last;
        while (done > first && joined_[done] == kNone) --done;
        std::uint32_t place = done == first ? place_of_[arrivals_[first]] : joined_[done];
        for (std::size_t at = done + 1; at <= last; ++at) {
            const auto own = static_cast<std::uint32_t>(replay_.steps_.size());
            replay_.steps_.push_back({kNone, place, place_of_[arrivals_[at]], kNone});
            place = joined_[at] = own;
        }
        return place;
    }

    Replay& replay_;
    std::int64_t chunks_;
    const NominalSends& sends_;
    std::span<const std::int64_t> holdings_;
    bool sums_;
    std::vector<std::uint32_t> arrivals_;
    std::vector<std::uint32_t> joined_;  ///< by index of arrivals_: the place of its join with all before it
    std::vector<std::uint32_t> place_of_;
    std::vector<std::uint32_t> last_of_link_;
};

Replay::Replay(std::size_t links, std::int64_t chunks, const NominalSends& sends,
               std::span<const std::int64_t> holdings, bool sums)
    : links_(links), send_count_(sends.link.size()) {
    steps_.reserve(send_count_);
    Builder(*this, chunks, sends, holdings, sums).build();
}

std::vector<std::int64_t> Replay::times(const Durations& durations) const {
    std::vector<std::int64_t> times(durations.draws);
    ReplayBlock block(steps_.size(), links_);
    for (std::size_t first = 0; first < durations.draws; first += kLanes) {
        const std::size_t lanes = std::min(kLanes, durations.draws - first);
        load(durations, first, lanes, block);
        play(steps_, durations.per_send, block);
        std::int64_t latest[kLanes] = {};
        for (std::size_t i = 0; i < block.arrived.size(); i += kLanes)
            for (std::size_t lane = 0; lane < kLanes; ++lane)
                latest[lane] = std::max(latest[lane], block.arrived[i + lane]);
        std::copy_n(latest, lanes, times.data() + first);
    }
    return times;
}

std::vector<std::int64_t> Replay::times(const Durations& durations, Criticality& criticality) const {
    for (auto* column : {&criticality.draws, &criticality.arrivals, &criticality.waits, &criticality.path_ps})
        column->assign(links_, 0);
    std::vector<std::int64_t> times(durations.draws);
    std::vector<std::uint32_t> seen(links_, kNone);
    if (steps_.empty()) return times;
    ReplayBlock block(steps_.size(), links_);
    for (std::size_t first = 0; first < durations.draws; first += kLanes) {
        const std::size_t lanes = std::min(kLanes, durations.draws - first);
        load(durations, first, lanes, block);
        play(steps_, durations.per_send, block);
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            times[first + lane] = block.arrived[last_place(steps_, block, lane) * kLanes + lane];
            follow(steps_, durations.per_send, block, lane, seen, static_cast<std::uint32_t>(first + lane),
                   criticality);
        }
    }
    return times;
}

std::vector<std::int64_t> Replay::starts(const Durations& durations) const {
    ReplayBlock block(steps_.size(), links_);
    load(durations, 0, 1, block);
    play(steps_, durations.per_send, block);
    std::vector<std::int64_t> starts(send_count_);
    for (std::size_t place = 0; place < steps_.size(); ++place) {
        const Step& step = steps_[place];
        if (step.link == kNone) continue;
        const std::size_t row = std::size_t{durations.per_send ? step.other : step.link} * kLanes;
        starts[step.other] = block.arrived[place * kLanes] - block.arrival[row];
    }
    return starts;
}

}  // namespace dse::synthesis
