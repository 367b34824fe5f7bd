#include "partition/problem/problem.hpp"

#include <numeric>

namespace dse::partition {

namespace {

/// Start of each node's run of indices, and the indices.
template <typename End>
void index_edges(const Problem& problem, End end, std::vector<std::uint32_t>& start,
                 std::vector<std::uint32_t>& indices) {
    start.assign(problem.nodes + 1, 0);
    for (const Edge& edge : problem.edges) ++start[end(edge) + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    indices.resize(problem.edges.size());
    std::vector<std::uint32_t> next(start.begin(), start.end() - 1);
    for (std::uint32_t i = 0; i < problem.edges.size(); ++i) indices[next[end(problem.edges[i])]++] = i;
}

bool same_links(const Square& links, std::size_t devices, std::size_t a, std::size_t b) {
    if (links(a, b) != links(b, a)) return false;
    for (std::size_t c = 0; c < devices; ++c)
        if (c != a && c != b && (links(a, c) != links(b, c) || links(c, a) != links(c, b))) return false;
    return true;
}

bool can_swap(const Problem& problem, std::size_t a, std::size_t b) {
    if (problem.speed[a] != problem.speed[b] || problem.capacity[a] != problem.capacity[b]) return false;
    const bool cut =
        problem.objective == Objective::kShardingCost || problem.objective == Objective::kProcessMapping;
    if (cut) return same_links(problem.distance, problem.devices, a, b);
    if (problem.objective == Objective::kPipelineBottleneck && !problem.free_order) return false;
    return same_links(problem.latency, problem.devices, a, b) &&
           same_links(problem.per_byte, problem.devices, a, b);
}

}  // namespace

double Problem::total_weight() const { return std::accumulate(weight.begin(), weight.end(), 0.0); }

double Problem::slack(double cost) const {
    const double part = kSlack * std::max(1e-300, cost);
    if (objective != Objective::kShardingCost) return part;
    // Squared weights may be so large that a part in 1e9 of them is more than all distances.
    double furthest = 0;
    for (std::size_t a = 0; a < devices; ++a)
        furthest = std::max(furthest, *std::max_element(distance.row(a), distance.row(a) + devices));
    const double total = total_weight();
    const double rounding =
        8 * std::numeric_limits<double>::epsilon() * total * total / static_cast<double>(devices);
    return std::min(part, rounding + kSlack * furthest);
}

double Problem::total_speed() const { return std::accumulate(speed.begin(), speed.end(), 0.0); }

Incidence::Incidence(const Problem& problem) {
    index_edges(problem, [](const Edge& edge) { return edge.from; }, out_start, out);
    index_edges(problem, [](const Edge& edge) { return edge.to; }, in_start, in);
}

std::vector<std::uint32_t> interchangeable(const Problem& problem) {
    std::vector<bool> is_pinned(problem.devices, false);
    for (const std::int32_t device : problem.pinned)
        if (device >= 0) is_pinned[static_cast<std::size_t>(device)] = true;
    std::vector<std::uint32_t> first(problem.devices);
    for (std::uint32_t b = 0; b < problem.devices; ++b) {
        first[b] = b;
        if (is_pinned[b]) continue;
        for (std::uint32_t a = 0; a < b; ++a)
            if (first[a] == a && !is_pinned[a] && can_swap(problem, a, b)) {
                first[b] = a;
                break;
            }
    }
    return first;
}

double fill_level(const std::vector<double>& start, const std::vector<double>& speed, double amount) {
    std::vector<std::uint32_t> by_start(start.size());
    std::iota(by_start.begin(), by_start.end(), 0U);
    std::sort(by_start.begin(), by_start.end(),
              [&](std::uint32_t a, std::uint32_t b) { return start[a] < start[b]; });
    double speeds = 0, filled = amount, level = 0;
    for (std::size_t k = 0; k < by_start.size(); ++k) {
        const std::uint32_t device = by_start[k];
        speeds += speed[device];
        filled += speed[device] * start[device];
        level = filled / speeds;
        if (k + 1 == by_start.size() || level <= start[by_start[k + 1]]) break;
    }
    return level;
}

}  // namespace dse::partition
