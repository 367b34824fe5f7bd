// The cost of a partition of a cut graph: its edges, and under `sharding_cost` its balance.
#include <numeric>

#include "partition/cuts/cut_graph.hpp"

namespace dse::partition {

double edge_cost(const CutGraph& graph, const Problem& problem, const Labels& labels) {
    double total = 0;
    for (std::size_t v = 0; v < graph.nodes; ++v) {
        const auto a = static_cast<std::size_t>(labels[v]);
        for (std::uint32_t k = graph.start[v]; k < graph.start[v + 1]; ++k) {
            const auto b = static_cast<std::size_t>(labels[graph.neighbour[k]]);
            if (a != b) total += graph.out[k] * problem.distance(a, b);
        }
    }
    return total;
}

double cut_cost(const CutGraph& graph, const Problem& problem, const Labels& labels) {
    double total = edge_cost(graph, problem, labels);
    if (problem.objective != Objective::kShardingCost) return total;
    std::vector<double> load(problem.devices, 0.0);
    for (std::size_t v = 0; v < graph.nodes; ++v)
        load[static_cast<std::size_t>(labels[v])] += graph.weight[v];
    const double mean = std::accumulate(load.begin(), load.end(), 0.0) / static_cast<double>(problem.devices);
    for (const double weight : load) total += (weight - mean) * (weight - mean);
    return total;
}

}  // namespace dse::partition
