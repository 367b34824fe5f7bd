// A recorded step played again: when each node begins and ends if nodes keep their order and durations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dse::recorded {

/// The nodes of a step of several ranks, as columns; dse/simulation/recorded/step.py says what they mean.
/// Nodes of a lane run in the order of their numbers; row n of `before` begins at `before_first[n]`.
struct StepColumns {
    std::span<const std::int32_t> lane;
    std::span<const std::int64_t> duration_ns, gap_ns;
    std::span<const std::int64_t> before_first, before;
    std::span<const std::int32_t> communication;  ///< -1: none
    std::span<const bool> waits;
    std::size_t lanes = 0, communications = 0;
};

/// Times are -1 and nodes are -1 where there are none.
struct StepTimes {
    std::vector<std::int64_t> start_ns;  ///< the node could begin, from the start of the step
    std::vector<std::int64_t> run_ns;    ///< its duration begins: the others of its communication are there
    std::vector<std::int64_t> end_ns;
    std::vector<std::int64_t> after;  ///< the node whose end came last before its gap
    std::vector<std::int64_t> last;   ///< of each communication, the node that could begin last
    std::vector<std::int64_t> order;  ///< all that ended, each after what it waited for
    std::vector<std::int64_t>
        circle;  ///< each waits for the next, the last one for the first; empty if all ended
};

/// One pass over nodes and edges. Throws InputError for columns that do not fit each other, numbers out of
/// their range, negative times, and sums of times beyond 64 bits.
StepTimes replayed(const StepColumns& step);

/// The nodes that decide when `node` ends, itself first, each begun by the end of the next. With `across`, a
/// node that waits for others is followed by the last of them, which decides in its place.
/// Throws InputError for columns that are not those of one replay.
std::vector<std::int64_t> path_to(std::int64_t node, std::span<const std::int64_t> after,
                                  std::span<const std::int64_t> last,
                                  std::span<const std::int32_t> communication, std::span<const bool> waits,
                                  bool across);

}  // namespace dse::recorded
