// Small changes of a tree of sums and copies.
#pragma once

#include <cstdint>

#include "collectives/trees/sum_trees.hpp"

namespace dse::synthesis {

/// Lets a hop, with all that is further out, join its tree at another node next to it, chosen at random. The
/// tree stays as it is if four tries find none. Gates of hops may then be those of later hops.
void move_hop(const Problem& problem, const SumEnds& ends, AddingTree& tree, std::uint32_t hop,
              Random& random);

}  // namespace dse::synthesis
