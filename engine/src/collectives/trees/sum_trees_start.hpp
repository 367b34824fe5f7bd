// Where trees of sums have their roots, and when: what a search for them starts with.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/trees/sum_trees.hpp"

namespace dse::synthesis {

/// Nodes at which trees between ends may have their roots, NPUs and switches that add and copy, those nearest
/// to all ends first; none farther from one than every end is. Where one node alone has or wants the chunk,
/// the root is there.
class NearRoots {
public:
    NearRoots(const Problem& problem, const SumEnds& ends);

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

/// Trees of the sends of a schedule, and of each of their hops, tree by tree, the number of its send.
struct TreesOfSends {
    std::vector<AddingTree> trees;
    std::vector<std::size_t> send_of;
};

/// Reads trees from sends, of sums where `reduce` is not 0. Nothing if a chunk goes otherwise, as where NPUs
/// exchange sums.
std::optional<TreesOfSends> trees_of(const Problem& problem, const EndsOfChunks& ends,
                                     const std::vector<Send>& sends, const std::vector<std::uint8_t>& reduce);

/// Keys of the hops of a grown tree whose root has the sum at a time: sums as late as they can be for that,
/// copies as early.
std::vector<Picoseconds> keys_around(const Problem& problem, const AddingTree& tree, Picoseconds at);

}  // namespace dse::synthesis
