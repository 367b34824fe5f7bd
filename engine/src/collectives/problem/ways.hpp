// Shortest ways on the links of a problem, by arrival time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

using NodePair = std::pair<std::uint32_t, std::uint32_t>;  ///< from, to

/// ShortestWays of pairs of nodes: that of pair p are the links `links[begin[p] … begin[p + 1])` in order.
struct ShortestWays {
    std::vector<NodePair> pairs;  ///< sorted, each once
    std::vector<std::uint64_t> begin;
    std::vector<std::uint32_t> links;

    /// The index of a pair, which must be there.
    std::size_t at(NodePair pair) const;
};

/// The shortest ways of `pairs`, the first found of equal ones; a pair without a way has an empty route.
ShortestWays shortest_ways(const Problem& problem, std::vector<NodePair> pairs);

}  // namespace dse::synthesis
