#include "simulation/replay/replay.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/error.hpp"

namespace dse::recorded {

namespace {

constexpr std::int64_t kNowhere = -1;

[[noreturn]] void refuse(const std::string& what) { throw InputError("recorded step: " + what); }

/// Checks that each number of a column is from `least` to `most`.
template <typename Number>
void check_range(const char* column, std::span<const Number> values, std::int64_t least, std::int64_t most) {
    const auto wrong =
        std::ranges::find_if(values, [&](Number value) { return value < least || value > most; });
    if (wrong == values.end()) return;
    refuse(std::string(column) + "[" + std::to_string(wrong - values.begin()) + "] is " +
           std::to_string(*wrong) +
           (most < least ? "; there is nothing that it could name"
                         : "; it must be from " + std::to_string(least) + " to " + std::to_string(most)));
}

void check_size(const char* column, std::size_t size, std::size_t expected) {
    if (size == expected) return;
    refuse(std::string(column) + " has " + std::to_string(size) + " numbers; it must have " +
           std::to_string(expected));
}

/// No time of the replay exceeds the sum of all durations and gaps.
void check_sum(const StepColumns& step) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    std::int64_t sum = 0;
    for (const auto& column : {step.duration_ns, step.gap_ns}) {
        for (const std::int64_t time : column) {
            if (time > most - sum) refuse("durations and gaps add up to more than 2^63 ns");
            sum += time;
        }
    }
}

void check(const StepColumns& step) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const std::size_t nodes = step.lane.size();
    check_size("duration_ns", step.duration_ns.size(), nodes);
    check_size("gap_ns", step.gap_ns.size(), nodes);
    check_size("communication", step.communication.size(), nodes);
    check_size("waits", step.waits.size(), nodes);
    check_size("before_first", step.before_first.size(), nodes + 1);
    check_range("lane", step.lane, 0, static_cast<std::int64_t>(step.lanes) - 1);
    check_range("communication", step.communication, -1, static_cast<std::int64_t>(step.communications) - 1);
    check_range("duration_ns", step.duration_ns, 0, most);
    check_range("gap_ns", step.gap_ns, 0, most);
    check_range("before_first", step.before_first, 0, static_cast<std::int64_t>(step.before.size()));
    if (step.before_first.front() != 0 ||
        step.before_first.back() != static_cast<std::int64_t>(step.before.size()) ||
        !std::ranges::is_sorted(step.before_first)) {
        refuse("before_first must ascend from 0 to the number of edges, " +
               std::to_string(step.before.size()));
    }
    check_range("before", step.before, 0, static_cast<std::int64_t>(nodes) - 1);
    check_sum(step);
}

/// Rows of numbers: row r is `items[first[r] .. first[r + 1])`.
struct Rows {
    std::vector<std::int64_t> first, items;

    std::span<const std::int64_t> operator[](std::size_t row) const {
        return {items.data() + first[row], items.data() + first[row + 1]};
    }
};

/// Puts `item` into the row `row_of(item)`, for each item from 0; items without a row (-1) into none.
template <typename RowOf>
Rows sorted_into_rows(std::size_t rows, std::size_t items, const RowOf& row_of) {
    Rows result;
    result.first.assign(rows + 1, 0);
    for (std::size_t item = 0; item < items; ++item) {
        if (row_of(item) >= 0) ++result.first[static_cast<std::size_t>(row_of(item)) + 1];
    }
    for (std::size_t row = 0; row < rows; ++row) result.first[row + 1] += result.first[row];
    result.items.resize(static_cast<std::size_t>(result.first.back()));
    std::vector<std::int64_t> next(result.first.begin(), result.first.end() - 1);
    for (std::size_t item = 0; item < items; ++item) {
        if (row_of(item) < 0) continue;
        result.items[static_cast<std::size_t>(next[static_cast<std::size_t>(row_of(item))]++)] =
            static_cast<std::int64_t>(item);
    }
    return result;
}

/// Nodes whose predecessors have all ended begin; a node that waits ends when its communication is complete.
class Player {
public:
    explicit Player(const StepColumns& step)
        : step_(step),
          nodes_(step.lane.size()),
          lane_before_(nodes_, kNowhere),
          lane_next_(nodes_, kNowhere),
          awaited_(nodes_),
          members_(sorted_into_rows(step.communications, nodes_,
                                    [&](std::size_t node) { return step.communication[node]; })) {
        times_.start_ns.assign(nodes_, kNowhere);
        times_.run_ns.assign(nodes_, kNowhere);
        times_.end_ns.assign(nodes_, kNowhere);
        times_.after.assign(nodes_, kNowhere);
        times_.last.assign(step.communications, kNowhere);
        times_.order.reserve(nodes_);
        link_lanes();
        link_edges();
        absent_.resize(step.communications);
        for (std::size_t each = 0; each < absent_.size(); ++each) absent_[each] = members_[each].size();
    }

    StepTimes play() && {
        for (std::size_t node = 0; node < nodes_; ++node) {
            if (awaited_[node] == 0) begin(node);
        }
        // `order` is the queue of nodes that have ended, too.
        for (std::size_t next = 0; next < times_.order.size(); ++next) {
            const auto node = static_cast<std::size_t>(times_.order[next]);
            if (lane_next_[node] >= 0) arrive(lane_next_[node]);
            for (const std::int64_t edge : followers_[node]) arrive(owner_[static_cast<std::size_t>(edge)]);
        }
        if (times_.order.size() < nodes_) times_.circle = circle();
        return std::move(times_);
    }

private:
    void link_lanes() {
        std::vector<std::int64_t> latest(step_.lanes, kNowhere);
        for (std::size_t node = 0; node < nodes_; ++node) {
            std::int64_t& before = latest[static_cast<std::size_t>(step_.lane[node])];
            lane_before_[node] = before;
            if (before >= 0) lane_next_[static_cast<std::size_t>(before)] = static_cast<std::int64_t>(node);
            before = static_cast<std::int64_t>(node);
        }
    }

    void link_edges() {
        owner_.resize(step_.before.size());
        for (std::size_t node = 0; node < nodes_; ++node) {
            const auto row = before(node);
            awaited_[node] = row.size() + (lane_before_[node] >= 0 ? 1 : 0);
            std::fill_n(owner_.begin() + step_.before_first[node], row.size(),
                        static_cast<std::int64_t>(node));
        }
        followers_ = sorted_into_rows(nodes_, step_.before.size(),
                                      [&](std::size_t edge) { return step_.before[edge]; });
    }

    std::span<const std::int64_t> before(std::size_t node) const {
        return step_.before.subspan(
            static_cast<std::size_t>(step_.before_first[node]),
            static_cast<std::size_t>(step_.before_first[node + 1] - step_.before_first[node]));
    }

    void arrive(std::int64_t follower) {
        const auto node = static_cast<std::size_t>(follower);
        if (--awaited_[node] == 0) begin(node);
    }

    /// Of several that end at once, the one of the lane decides, then the first of `before`.
    void begin(std::size_t node) {
        std::int64_t free_ns = 0;
        const auto consider = [&](std::int64_t other) {
            const std::int64_t end_ns = times_.end_ns[static_cast<std::size_t>(other)];
            if (times_.after[node] >= 0 && end_ns <= free_ns) return;
            free_ns = end_ns;
            times_.after[node] = other;
        };
        if (lane_before_[node] >= 0) consider(lane_before_[node]);
        for (const std::int64_t other : before(node)) consider(other);
        times_.start_ns[node] = free_ns + step_.gap_ns[node];
        if (!step_.waits[node] || step_.communication[node] < 0) run(node, times_.start_ns[node]);
        if (step_.communication[node] >= 0) join(static_cast<std::size_t>(step_.communication[node]));
    }

    void join(std::size_t communication) {
        if (--absent_[communication] > 0) return;
        const auto members = members_[communication];
        const std::int64_t last = *std::ranges::max_element(members, {}, [&](std::int64_t member) {
            return times_.start_ns[static_cast<std::size_t>(member)];
        });
        times_.last[communication] = last;
        for (const std::int64_t member : members) {
            const auto node = static_cast<std::size_t>(member);
            if (step_.waits[node]) run(node, times_.start_ns[static_cast<std::size_t>(last)]);
        }
    }

    void run(std::size_t node, std::int64_t from_ns) {
        times_.run_ns[node] = from_ns;
        times_.end_ns[node] = from_ns + step_.duration_ns[node];
        times_.order.push_back(static_cast<std::int64_t>(node));
    }

    /// A node that has not ended waits for another such node: for one before it, or of its communication.
    std::int64_t held_by(std::size_t node) const {
        const auto unfinished = [&](std::int64_t other) {
            return other >= 0 && times_.end_ns[static_cast<std::size_t>(other)] < 0;
        };
        if (unfinished(lane_before_[node])) return lane_before_[node];
        const auto row = before(node);
        if (const auto found = std::ranges::find_if(row, unfinished); found != row.end()) return *found;
        const auto members = members_[static_cast<std::size_t>(step_.communication[node])];
        return *std::ranges::find_if(members, [&](std::int64_t member) {
            return times_.start_ns[static_cast<std::size_t>(member)] < 0;
        });
    }

    std::vector<std::int64_t> circle() const {
        const auto first = std::ranges::find(times_.end_ns, kNowhere) - times_.end_ns.begin();
        std::vector<std::int64_t> visit(nodes_, kNowhere), walk;
        for (std::int64_t node = first;; node = held_by(static_cast<std::size_t>(node))) {
            std::int64_t& seen = visit[static_cast<std::size_t>(node)];
            if (seen >= 0) return {walk.begin() + seen, walk.end()};
            seen = static_cast<std::int64_t>(walk.size());
            walk.push_back(node);
        }
    }

    const StepColumns& step_;
    std::size_t nodes_;
    std::vector<std::int64_t> lane_before_, lane_next_;
    std::vector<std::size_t> awaited_;  ///< of each node, the predecessors that have not ended
    std::vector<std::size_t> absent_;   ///< of each communication, the nodes that could not begin yet
    std::vector<std::int64_t> owner_;   ///< of each edge, the node that it lets begin
    Rows followers_;                    ///< of each node, the edges that begin at it
    Rows members_;                      ///< of each communication, its nodes
    StepTimes times_;
};

}  // namespace

StepTimes replayed(const StepColumns& step) {
    check(step);
    return Player(step).play();
}

std::vector<std::int64_t> path_to(std::int64_t node, std::span<const std::int64_t> after,
                                  std::span<const std::int64_t> last,
                                  std::span<const std::int32_t> communication, std::span<const bool> waits,
                                  bool across) {
    const auto most = static_cast<std::int64_t>(after.size()) - 1;
    check_size("communication", communication.size(), after.size());
    check_size("waits", waits.size(), after.size());
    check_range("communication", communication, -1, static_cast<std::int64_t>(last.size()) - 1);
    check_range("after", after, -1, most);
    check_range("last", last, -1, most);
    check_range("node", std::span<const std::int64_t>(&node, 1), 0, most);
    std::vector<std::int64_t> path;
    while (node >= 0) {
        if (path.size() == after.size()) refuse("after and last lead in a circle");
        path.push_back(node);
        const auto at = static_cast<std::size_t>(node);
        const std::int64_t decisive = across && waits[at] && communication[at] >= 0
                                          ? last[static_cast<std::size_t>(communication[at])]
                                          : node;
        node = decisive >= 0 && decisive != node ? decisive : after[at];
    }
    return path;
}

}  // namespace dse::recorded
