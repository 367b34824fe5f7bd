// A search for all-reduces of which the sum of each chunk goes up a tree of its own to a root of its own.
#pragma once

#include "collectives/search/sums.hpp"

namespace dse::synthesis {

/// Draws a tree per chunk so that links have about as much to carry, and schedules all of them event by
/// event. Then it changes the trees of chunks that make the end late, `trials` times, and keeps what is no
/// slower. Ends before when `work` sends were scheduled, when the time is `enough` or less, or when the
/// checkpoint ends it, with the best so far; without sends if there is none yet.
///
/// Throws InputError if an NPU cannot reach another.
FoundSums search_sum_trees(const Problem& problem, std::uint64_t work, const Effort& effort,
                           const Checkpoint& checkpoint);

}  // namespace dse::synthesis
