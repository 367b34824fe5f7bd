// Trees of all-reduces: the sum of a chunk goes up a tree to its root, and full sums go down another one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collectives/problem/problem.hpp"
#include "collectives/problem/random.hpp"

namespace dse::synthesis {

/// The NPUs that contribute to the sum of a chunk, and those that get it, ascending. One contributor: the
/// chunk is no sum, and its tree has its root there. One that gets it: likewise.
struct SumEnds {
    std::vector<std::uint32_t> from, to;

    const std::vector<std::uint32_t>& of(bool sums) const { return sums ? from : to; }

    bool has(std::uint32_t node, bool sums) const {
        return std::binary_search(of(sums).begin(), of(sums).end(), node);
    }
};

/// The ends of every chunk; chunks with the same ones share a kind.
struct EndsOfChunks {
    std::vector<SumEnds> kinds;
    std::vector<std::uint32_t> kind_of;  ///< per chunk

    const SumEnds& of(std::uint32_t chunk) const { return kinds[kind_of[chunk]]; }
};

/// Every NPU contributes to every chunk, and gets it.
EndsOfChunks ends_of_all(const Problem& problem);

/// Contributions come from given NPUs, and sums go to given ones.
EndsOfChunks ends_of(const Problem& problem, const std::vector<Want>& from, const std::vector<Want>& to);

/// A send of a chunk. Hop i of a tree has gate i + 1 at its outer end, and at the inner one gate 0, which is
/// the root, or that of another hop: an earlier one where the tree has grown, any once a hop has moved. A
/// gate opens when all has arrived that it waits for.
struct TreeHop {
    std::uint32_t link = 0;
    std::uint32_t gate = 0;
};

/// The hops of one chunk: `sums` of them add on the way to the root, the others copy from there. A switch
/// that neither adds nor copies may have several gates, one for each of its passages.
struct AddingTree {
    std::uint32_t root = 0;
    std::uint32_t sums = 0;
    std::vector<TreeHop> hops;
};

/// How a tree grows: whichever node costs least joins first. A link costs what it has to carry already, in
/// ps; `depth` is the share of the way to the root that is added, `noise` that of the held time at random.
/// Where a node has few engines, a link costs what they have to carry if that is more, and each hop at the
/// node waits for the ones before.
struct Growth {
    double depth = 0.0;
    double noise = 0.0;
};

/// Per link the one, of its like, that stands for it: sends over links with the same lane must not meet, as
/// those of images of chunks go over the images of links. Empty: each link stands for itself.
using Lanes = std::vector<std::uint32_t>;

inline std::uint32_t lane_of(const Lanes& lanes, std::uint32_t link) {
    return lanes.empty() ? link : lanes[link];
}

/// Grows trees, and keeps what all links have to carry. Keeps references to the problem, the ends and lanes;
/// NPUs that are no ends of a chunk relay it, as switches do. Where links share lanes a tree counts its own
/// hops while it grows.
class TreeGrower {
public:
    TreeGrower(const Problem& problem, const EndsOfChunks& ends, const Lanes& lanes);

    /// For how long the trees that are added hold the link with most to carry.
    Picoseconds most_load() const;

    /// Throws InputError if an end has no way to the root, or none from it.
    AddingTree grow(std::uint32_t chunk, std::uint32_t root, const Growth& growth, Random& random);

    void add(const AddingTree& tree, int sign = 1);

    void clear();

private:
    struct Candidate {
        double cost;
        std::uint32_t node;
        std::uint32_t link;
        double others;  ///< the part of the cost that does not change
        bool operator<(const Candidate& other) const {
            return cost != other.cost ? cost > other.cost : node > other.node;
        }
    };

    template <bool kSums>
    void grow_half(const SumEnds& ends, AddingTree& tree, const Growth& growth, Random& random);
    template <bool kSums>
    void join(std::uint32_t node, AddingTree& tree);
    template <bool kSums>
    void offer_from(std::uint32_t node, double cost, const Growth& growth, Random& random);

    template <bool kSums>
    double wait_at(std::uint32_t l) const;
    template <bool kSums>
    double cost_of(std::uint32_t l, const Growth& growth) const;

    const Problem& problem_;
    const EndsOfChunks& ends_;
    const Lanes& lanes_;
    const bool is_limited_;
    const bool costs_rise_;  ///< while a tree grows
    std::vector<Picoseconds> loads_;
    std::vector<Picoseconds> sent_, received_;  ///< per node what its engines have to carry
    Picoseconds base_ = 0;  ///< what every link carries: it says nothing about which is better
    std::uint32_t missing_ = 0;

    // Of the half that grows, per node.
    std::vector<Candidate> heap_;
    std::vector<double> cost_, depth_;
    std::vector<std::uint32_t> by_, gate_, way_;
    std::vector<std::uint8_t> is_end_;
    std::vector<std::uint32_t> inner_hops_;  ///< how many hops further out the node has
};

}  // namespace dse::synthesis
