// A search for all-reduces of which the sum of each chunk goes up a tree of its own to a root of its own.
#pragma once

#include "collectives/search/sums.hpp"
#include "collectives/trees/sum_trees.hpp"

namespace dse::synthesis {

/// Trees that a search takes as its first ones: the sends of a schedule, of sums where `reduce` is not 0, and
/// orders in which they may go, each as a key per send. `reserved` are sends of others, by start: the links
/// are not free then.
struct GivenTrees {
    std::vector<Send> sends;
    std::vector<std::uint8_t> reduce;
    std::vector<std::vector<Picoseconds>> keys;
    std::vector<Send> reserved;
    bool exchange = false;  ///< roots exchange sums with a neighbour
    Lanes lanes;            ///< that links share; without sends of others, and engines
};

/// Draws a tree per chunk so that links have about as much to carry, and schedules all of them event by
/// event. Then it changes the trees of chunks that make the end late, `trials` times, and keeps what is no
/// slower. Ends before when `work` sends were scheduled, when the time is `enough` or less, or when the
/// checkpoint ends it, with the best so far; without sends if there is none yet.
///
/// Throws InputError if an end cannot reach another.
FoundSums search_sum_trees(const Problem& problem, const EndsOfChunks& ends, const GivenTrees& given,
                           std::uint64_t work, const Effort& effort, const Checkpoint& checkpoint);

}  // namespace dse::synthesis
