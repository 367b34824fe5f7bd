// Schedules of chunks that go along packed trees (ForestColl).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/search/restarts.hpp"
#include "collectives/trees/tree_packing.hpp"

namespace dse::synthesis {

/// A tree of links, for so many chunks of its root; each link stands after the one that leads to its start.
struct LinkTree {
    std::uint32_t root = 0;
    Amount copies = 0;
    std::vector<std::uint32_t> links;
};

/// Trees for all chunks of a problem in which everyone wants all, within what links can deliver by `time`.
/// Nothing if there are none, or none were found past switches.
std::optional<std::vector<LinkTree>> link_trees(const Problem& problem, Picoseconds time, double noise,
                                                Random& random, const Checkpoint& checkpoint);

struct TreesFound {
    Found found;
    Picoseconds flow_time = 0;   ///< what flows alone take: no schedule takes less
    Picoseconds packed_for = 0;  ///< the time for whose deliveries the trees of the best schedule were packed
    std::uint32_t trees = 0;     ///< different ones
};

/// The best schedule of `trials` packings, half of them for the least time that flows allow, half for times
/// up to the best so far, which leave room for trees of less depth. For how it ends see search_restarts.
///
/// Throws InputError if there is no way to an NPU, or no trees are found past switches.
TreesFound search_trees(const Problem& problem, const Effort& effort, const Checkpoint& checkpoint);

}  // namespace dse::synthesis
