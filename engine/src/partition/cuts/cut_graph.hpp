// The graph of the cut objectives at one level of coarsening, and partitions of it.
#pragma once

#include <algorithm>
#include <functional>
#include <random>

#include "partition/problem/problem.hpp"

namespace dse::partition {

using Random = std::mt19937_64;

/// Adjacency in compressed rows; parallel edges are one. `out` is what flows to a neighbour, `in` from it.
struct CutGraph {
    std::size_t nodes = 0;
    std::vector<double> weight, memory;
    std::vector<std::int32_t> pinned;
    std::vector<std::uint32_t> start, neighbour;
    std::vector<double> out, in;
};

CutGraph cut_graph(const Problem& problem);

/// One level coarser by heavy-edge matching; `coarse_of` is the node that each becomes. Nodes are matched
/// only if every one of `kept` has both on one device, and while they weigh at most `heaviest`.
CutGraph coarsened(const CutGraph& graph, const std::vector<const Labels*>& kept, double heaviest,
                   Random& random, std::vector<std::uint32_t>& coarse_of);

/// One level coarser by clusters: labels spread to where most of a node's edges lead, while a cluster weighs
/// at most `heaviest` and a coarse graph has at least `fewest` nodes. The same is kept as by `coarsened`.
CutGraph clustered(const CutGraph& graph, const std::vector<const Labels*>& kept, double heaviest,
                   std::size_t fewest, Random& random, std::vector<std::uint32_t>& coarse_of);

/// The graph whose `nodes` are sets of nodes of this one; a set is pinned where one of its nodes is.
CutGraph contracted(const CutGraph& graph, const std::vector<std::uint32_t>& coarse_of, std::size_t nodes);

/// About `count` pieces of such a row as `split_in_a_row` has, cut where the least crosses: the piece of each
/// node.
std::vector<std::uint32_t> row_segments(const CutGraph& graph, std::size_t count, int kind, Random& random);

/// A partition by recursive bisection, halves grown from random nodes.
Labels bisected(const CutGraph& graph, const Problem& problem, const std::vector<std::uint32_t>& devices,
                Random& random);

/// The same, every split with levels of coarsening of its own, by matchings or by clusters; in less tries
/// once `expired`.
Labels halved(const CutGraph& graph, const Problem& problem, const std::vector<std::uint32_t>& devices,
              Random& random, const std::function<bool()>& expired, bool by_clusters = false);

/// A partition into contiguous pieces of a row of nodes: by index (kind 0), depth first (1), breadth first
/// (2), breadth first from a far end (3). Labels are empty if no pieces keep the limit of weight.
Labels split_in_a_row(const CutGraph& graph, const Problem& problem,
                      const std::vector<std::uint32_t>& devices, int kind, Random& random);

/// Moves nodes between devices as long as the cost falls, with hill climbing inside a pass; brings loads
/// within their limits first. `loose` lets a load pass its limit by half the heaviest node, for levels that
/// are too coarse to be balanced. Once `expired` it only sees to the limits. Returns whether all are kept.
bool refine(const CutGraph& graph, const Problem& problem, Labels& labels, bool loose, Random& random,
            const std::function<bool()>& expired);

/// Makes the boundary between any two devices a least cut, as long as that saves something, under
/// `process_mapping`; keeps the limits as `refine` does. Returns the sum of what cuts save.
double refine_by_flows(const CutGraph& graph, const Problem& problem, Labels& labels, bool loose,
                       Random& random, const std::function<bool()>& expired);

/// The most that a device may weigh; `loose` allows half of the heaviest node more, as on coarse levels.
inline double weight_limit(const CutGraph& graph, const Problem& problem, bool loose) {
    if (!loose) return problem.weight_limit;
    return problem.weight_limit + *std::max_element(graph.weight.begin(), graph.weight.end()) / 2;
}

/// Without the squares of `sharding_cost`.
double edge_cost(const CutGraph& graph, const Problem& problem, const Labels& labels);

double cut_cost(const CutGraph& graph, const Problem& problem, const Labels& labels);

}  // namespace dse::partition
