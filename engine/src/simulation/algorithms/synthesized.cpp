// Synthesised: the sends of a schedule that was made for the links of the network.
//
//     unaware of congestion: one delay, from when the last member is there
//     aware of it:           its sends, each when its chunk is there and its link has taken the one before
#include "simulation/algorithms/synthesized.hpp"

#include <algorithm>
#include <utility>

#include "simulation/algorithms/algorithm.hpp"
#include "simulation/algorithms/lockstep.hpp"

namespace dse::collectives {

TimedSchedule::TimedSchedule(std::shared_ptr<const synthesis::Replay> replay, std::vector<std::uint32_t> from,
                             std::vector<std::uint32_t> to, std::uint32_t members,
                             std::uint32_t chunks_per_member, std::vector<CostLine> lines)
    : replay_(std::move(replay)),
      from_(std::move(from)),
      to_(std::move(to)),
      members_(members),
      chunks_per_member_(chunks_per_member),
      lines_(std::move(lines)),
      waits_(replay_->steps().size()),
      next_on_link_(replay_->steps().size(), synthesis::Replay::kNone),
      work_(members) {
    constexpr std::uint32_t kNone = synthesis::Replay::kNone;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> after, sent_by;
    const auto places = static_cast<std::uint32_t>(waits_.size());
    for (std::uint32_t place = 0; place < places; ++place) {
        const synthesis::Replay::Step& own = step(place);
        const auto wait_for = [&](std::uint32_t other) {
            if (other == kNone) return;
            after.emplace_back(other, place);
            ++waits_[place];
        };
        wait_for(own.after);
        if (own.link == kNone) {
            wait_for(own.other);
            continue;
        }
        if (own.link_order != kNone) {
            next_on_link_[own.link_order] = place;
            ++waits_[place];
        }
        if (from_[own.link] < members_) {
            sent_by.emplace_back(from_[own.link], place);
            ++waits_[place];
            ++work_[from_[own.link]];
        }
        if (to_[own.link] < members_) ++work_[to_[own.link]];
    }
    after_ = lists_of(places, after);
    sent_by_ = lists_of(members_, sent_by);
}

TimedSchedule::Lists TimedSchedule::lists_of(
    std::size_t count, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs) {
    Lists lists;
    lists.begin.assign(count + 1, 0);
    for (const auto& [index, item] : pairs) ++lists.begin[index + 1];
    for (std::size_t i = 0; i < count; ++i) lists.begin[i + 1] += lists.begin[i];
    lists.items.resize(pairs.size());
    std::vector<std::uint32_t> next = lists.begin;
    for (const auto& [index, item] : pairs) lists.items[next[index]++] = item;
    return lists;
}

/// `lines_` ascend by slope, and each is the highest for some size: the largest is found by halving.
double TimedSchedule::time_ps(std::uint64_t share) const {
    const auto bytes = static_cast<double>(chunk_bytes(share));
    const auto value = [&](std::size_t i) { return lines_[i].base_ps + lines_[i].ps_per_byte * bytes; };
    std::size_t low = 0, high = lines_.empty() ? 0 : lines_.size() - 1;
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (value(middle) < value(middle + 1)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return lines_.empty() ? 0.0 : value(low);
}

const TimedSchedule& Synthesized::best(std::uint64_t share) const {
    return *std::min_element(schedules.begin(), schedules.end(), [&](const auto& a, const auto& b) {
        return a.time_ps(share) < b.time_ps(share);
    });
}

namespace {

class SynthesizedAlgorithm final : public Algorithm {
public:
    std::string_view name() const override { return "synthesized"; }

    void plan(Phase& phase, const Settings&, std::uint32_t) const override { phase.pumped = false; }

    /// All members of the phase have done what the schedule says.
    void step(Member& member, std::uint64_t) const override { member.finish(); }

    LockstepTime lockstep_time(const Phase& phase, const LockstepWires&) const override {
        const Time time = phase.synthesized->schedules->time_ns(phase.share());
        if (time == 0) throw NotSymmetric("a message without delay");
        return {time, time};
    }
};

}  // namespace

const Algorithm& synthesized() {
    static const SynthesizedAlgorithm algorithm;
    return algorithm;
}

}  // namespace dse::collectives
