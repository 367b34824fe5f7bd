// Where trees of sums have their roots, and when: what a search for them starts with.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/trees/sum_trees.hpp"

namespace dse::synthesis {

/// Nodes at which trees may have their roots, NPUs and switches that add and copy, those nearest to all NPUs
/// first.
class NearRoots {
public:
    explicit NearRoots(const Problem& problem);

    /// One of the nearest 1 / `parts` of all, or as near as the last of these.
    std::uint32_t draw(std::uint32_t parts, Random& random) const {
        return nodes_[random.below(count(parts))];
    }

    /// All of them.
    std::vector<std::uint32_t> nearest(std::uint32_t parts) const {
        return {nodes_.begin(), nodes_.begin() + count(parts)};
    }

private:
    std::uint32_t count(std::uint32_t parts) const {
        return as_near_[(nodes_.size() + parts - 1) / parts - 1];
    }

    std::vector<std::uint32_t> nodes_;
    std::vector<std::uint32_t> as_near_;  ///< per node how many are as near or nearer
};

/// Keys of the hops of a grown tree whose root has the sum at a time: sums as late as they can be for that,
/// copies as early.
std::vector<Picoseconds> keys_around(const Problem& problem, const AddingTree& tree, Picoseconds at);

}  // namespace dse::synthesis
