#include "partition/pieces/open_edges.hpp"

#include <cmath>

namespace dse::partition {

namespace {

/// Costs of so many edges are added up afresh; of more a sum is kept.
constexpr std::size_t kFewEnds = 64;

}  // namespace

void OpenEdges::begin() {
    const std::size_t nodes = graph_.ends.size();
    count_.assign(nodes, 0);
    cost_.assign(nodes, 0.0);
    rounding_.assign(nodes, 0.0);
    by_rank_.assign(nodes, {});
    for (std::size_t v = 0; v < nodes; ++v) {
        bool is_whole = true;
        for (const CostedGraph::End& end : graph_.ends[v]) {
            if (!is_open(end.edge)) continue;
            ++count_[v];
            cost_[v] += graph_.cost[end.edge];
            is_whole = is_whole && graph_.cost[end.edge] == std::floor(graph_.cost[end.edge]);
            by_rank_[v].emplace_back(rank_[end.node], end.edge);
        }
        std::sort(by_rank_[v].rbegin(), by_rank_[v].rend());
        if (!is_whole || cost_[v] >= 0x1p53)  // each sum and difference may be off by half a unit
            rounding_[v] =
                2 * static_cast<double>(count_[v]) * std::numeric_limits<double>::epsilon() * cost_[v];
    }
}

void OpenEdges::close(const CostedGraph::End& end, std::uint32_t v) {
    --count_[v];
    --count_[end.node];
    cost_[v] -= graph_.cost[end.edge];
    cost_[end.node] -= graph_.cost[end.edge];
}

double OpenEdges::cost_of(std::uint32_t v) const {
    if (graph_.ends[v].size() > kFewEnds) return cost_[v] + rounding_[v];
    double total = 0;
    for (const CostedGraph::End& end : graph_.ends[v])
        if (is_open(end.edge)) total += graph_.cost[end.edge];
    return total;
}

std::uint32_t OpenEdges::next_rank(std::uint32_t v) {
    while (!by_rank_[v].empty() && !is_open(by_rank_[v].back().second)) by_rank_[v].pop_back();
    return by_rank_[v].empty() ? UINT32_MAX : by_rank_[v].back().first;
}

}  // namespace dse::partition
