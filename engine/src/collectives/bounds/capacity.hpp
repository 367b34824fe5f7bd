// How many chunks links can have delivered by a time, and when they can have delivered enough.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

/// Links that are alike for a bound: a first chunk starts at `start` at the earliest, and must be there
/// `tail` before the end.
struct AlikeLinks {
    Picoseconds start = 0;
    Picoseconds tail = 0;
    Picoseconds arrival = 0;
    Picoseconds held = 0;
    std::int64_t count = 1;
    std::int64_t limit = std::numeric_limits<std::int64_t>::max();  ///< of what one of them can deliver

    /// How many chunks one of them can have delivered by `time`, at most `most`.
    std::int64_t delivered(Picoseconds time, std::int64_t most) const {
        const Picoseconds first = start + arrival + tail;
        if (time < first) return 0;
        const std::int64_t at_most = std::min(most, limit);
        return held == 0 ? at_most : std::min(at_most, 1 + (time - first) / held);
    }
};

/// How many chunks all of them can have delivered by `time`, at most `most`.
inline std::int64_t delivered(const std::vector<AlikeLinks>& groups, Picoseconds time, std::int64_t most) {
    std::int64_t sum = 0;
    for (const AlikeLinks& group : groups) {
        const std::int64_t each = group.delivered(time, most);
        if (each > 0 && group.count >= (most - sum + each - 1) / each) return most;
        sum += each * group.count;
    }
    return sum;
}

/// The least time from `from` on at which `groups` can have delivered `need` chunks; kNever without links.
inline Picoseconds earliest(const std::vector<AlikeLinks>& groups, std::int64_t need, Picoseconds from = 0) {
    if (delivered(groups, from, need) >= need) return from;
    // One group alone is enough at some time, or all groups are when they have reached their limits.
    Picoseconds enough = kNever, limits = from;
    for (const AlikeLinks& group : groups) {
        const std::int64_t each = (need + group.count - 1) / group.count, most = std::min(each, group.limit);
        if (group.start >= kNever / 2 || group.tail >= kNever / 2) continue;
        if (group.held > 0 && most - 1 > kNever / 4 / group.held) continue;
        const Picoseconds time = group.start + group.arrival + group.tail + (most - 1) * group.held;
        if (each <= group.limit) enough = std::min(enough, time);
        limits = std::max(limits, time);
    }
    if (enough == kNever && delivered(groups, limits, need) >= need) enough = limits;
    if (enough == kNever) return kNever;
    Picoseconds low = from;
    while (enough - low > 1) {
        const Picoseconds middle = low + (enough - low) / 2;
        (delivered(groups, middle, need) >= need ? enough : low) = middle;
    }
    return enough;
}

}  // namespace dse::synthesis
