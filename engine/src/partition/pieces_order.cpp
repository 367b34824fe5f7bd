// An order of nodes in which few have neighbours to come.
#include <numeric>

#include "partition/pieces_sweep.hpp"

namespace dse::partition {

namespace {

/// A graph that leaves more nodes open has no narrow order.
constexpr std::size_t kMostOpen = 200;

}  // namespace

std::vector<std::uint32_t> narrow_order(const CostedGraph& graph, const std::function<bool()>& expired) {
    const std::size_t nodes = graph.weight.size();
    const auto counts = [&](const CostedGraph::End& end) { return graph.use[end.edge] != EdgeUse::kCounted; };
    std::vector<std::uint32_t> left(nodes, 0) /* edges to nodes to come */, starts(nodes), slots, order;
    for (std::size_t v = 0; v < nodes; ++v)
        for (const CostedGraph::End& end : graph.ends[v]) left[v] += counts(end);
    std::iota(starts.begin(), starts.end(), 0U);
    std::stable_sort(starts.begin(), starts.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return left[a] < left[b]; });
    std::vector<bool> is_placed(nodes, false);
    /// Growth of the nodes with neighbours to come, and minus what ties it to them.
    const auto merit = [&](std::uint32_t v) {
        int closed = 0;
        double tie = 0;
        for (const CostedGraph::End& end : graph.ends[v]) {
            if (!counts(end) || !is_placed[end.node]) continue;
            tie += graph.cost[end.edge];
            closed += left[end.node] == 1;
        }
        return std::pair{(left[v] > 0 ? 1 : 0) - closed, -tie};
    };
    std::size_t start = 0;
    while (order.size() < nodes) {
        if (slots.size() > kMostOpen || expired()) return {};
        while (is_placed[starts[start]]) ++start;
        std::uint32_t best = starts[start];
        std::pair<int, double> best_merit{INT32_MAX, 0.0};
        for (const std::uint32_t slot : slots)
            for (const CostedGraph::End& end : graph.ends[slot]) {
                if (!counts(end) || is_placed[end.node]) continue;
                if (const auto found = merit(end.node); found < best_merit) {
                    best = end.node;
                    best_merit = found;
                }
            }
        order.push_back(best);
        is_placed[best] = true;
        slots.push_back(best);
        for (const CostedGraph::End& end : graph.ends[best])
            if (counts(end)) --left[end.node];
        std::erase_if(slots, [&](std::uint32_t v) { return left[v] == 0; });
    }
    return order;
}

}  // namespace dse::partition
