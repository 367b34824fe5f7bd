// A subtree of sums or copies that hangs on another node.
#pragma once

#include <vector>

#include "collectives/problem/random.hpp"
#include "collectives/trees/sum_trees.hpp"

namespace dse::synthesis {

/// Hangs the node at the outer end of a hop, with all further out, on another node of its half of the tree,
/// over a random way past switches at which hops do not meet. `keys` has one per hop and keeps to them.
/// Nothing happens where no other node is found in some tries.
void move_hop(const Problem& problem, const SumEnds& ends, AddingTree& tree, std::uint32_t hop,
              Random& random, std::vector<Picoseconds>& keys);

}  // namespace dse::synthesis
