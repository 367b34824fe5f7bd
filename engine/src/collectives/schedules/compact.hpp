// Schedules made tighter without a search: deliveries in vain left out, and every send as early as it can be.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

/// Marks (1) the sends to keep so that every wanted chunk still arrives: of the deliveries of a chunk to a
/// node the first, and only if some node wants or forwards it.
std::vector<std::uint8_t> deliveries_needed(const Problem& problem, const std::vector<Send>& sends);

/// The sends that each send waits for: those of send s are `sends[begin[s] … begin[s + 1])`.
struct Waits {
    std::vector<std::uint32_t> begin;
    std::vector<std::uint32_t> sends;
};

/// The sends that must have arrived before each: all that brought its chunk to its sender before its start.
Waits waits_of(const std::vector<Link>& links, const std::vector<Send>& sends);

/// Starts as early as the order on every link, `waits` and `engines` allow. With engines they may be later
/// than given, in the order of the given ones.
std::vector<Picoseconds> earliest_starts(const std::vector<Link>& links, const std::vector<Send>& sends,
                                         const Waits& waits, const EngineLimits& engines = {});

/// Starts of the same sends on the same ways in perhaps another order, never later in all than compacted:
/// rounds of moving every send as late, then as early as possible, with `seed` to break ties.
std::vector<Picoseconds> justified_starts(const std::vector<Link>& links, const std::vector<Send>& sends,
                                          const Waits& waits, std::uint32_t rounds, std::uint64_t seed,
                                          Picoseconds enough, const EngineLimits& engines = {});

}  // namespace dse::synthesis
