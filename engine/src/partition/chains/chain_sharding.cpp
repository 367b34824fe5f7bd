#include <cmath>

#include "partition/chains/chain.hpp"
#include "partition/problem/prefix_sums.hpp"

namespace dse::partition {

namespace {

/// Limit of |load - mean| in a partition of cost `upper`; without one in pieces that are cut at even sums,
/// which exist only if nothing is pinned and memory has no limits.
double most_off_the_mean(const Problem& problem, const PrefixSums& sum, double upper, double mean) {
    const bool is_free =
        std::all_of(problem.pinned.begin(), problem.pinned.end(), [](std::int32_t pin) { return pin < 0; }) &&
        std::all_of(problem.capacity.begin(), problem.capacity.end(),
                    [](double bytes) { return bytes == kInfinite; });
    if (upper < kInfinite || !is_free) return std::sqrt(std::max(0.0, upper)) * (1 + kSlack) + kSlack;
    const std::size_t n = problem.nodes;
    double squares = 0, furthest = 0;
    for (std::size_t a = 0; a < problem.devices; ++a)
        for (std::size_t b = 0; b < problem.devices; ++b)
            if (a != b) furthest = std::max(furthest, problem.distance(a, b));
    for (std::size_t k = 1, begin = 0; k <= problem.devices; ++k) {
        const double target = mean * static_cast<double>(k);
        std::size_t end = begin + 1;
        while (end < n - (problem.devices - k) &&
               std::abs(sum.between(0, end + 1) - target) <= std::abs(sum.between(0, end) - target))
            ++end;
        if (k == problem.devices) end = n;
        const double off = sum.between(begin, end) - mean;
        squares += off * off;
        begin = end;
    }
    const double cuts = furthest * static_cast<double>(problem.edges.size());
    return std::sqrt(squares + cuts) * (1 + kSlack) + kSlack;
}

}  // namespace

ChainResult contiguous_sharding(const Problem& problem, const std::vector<std::uint32_t>& devices,
                                double upper) {
    const std::size_t n = problem.nodes, pieces = devices.size();
    const double mean = problem.total_weight() / static_cast<double>(problem.devices);
    std::vector<std::uint32_t> place(n);
    PrefixSums sum(n), bytes(n);
    std::vector<double> forward(n + 1, 0.0), backward(n + 1, 0.0);
    for (std::uint32_t k = 0; k < n; ++k) {
        place[problem.order[k]] = k;
        sum.add(problem.weight[problem.order[k]]);
        bytes.add(problem.memory[problem.order[k]]);
    }
    for (const Edge& edge : problem.edges) {
        const std::uint32_t from = place[edge.from], to = place[edge.to];
        (from < to ? forward[to] : backward[from]) += edge.bytes;
    }
    const double reach = most_off_the_mean(problem, sum, upper, mean);
    std::vector<std::vector<double>> cost(pieces + 1, std::vector<double>(n + 1, kInfinite));
    std::vector<std::vector<std::uint32_t>> start(pieces + 1, std::vector<std::uint32_t>(n + 1, 0));
    cost[0][0] = 0;
    for (std::size_t k = 1; k <= pieces; ++k) {
        const std::uint32_t device = devices[k - 1];
        const double here = k > 1 ? problem.distance(devices[k - 2], device) : 0;
        const double back = k > 1 ? problem.distance(device, devices[k - 2]) : 0;
        for (std::size_t i = k - 1; i < n; ++i) {
            const double before = cost[k - 1][i] + forward[i] * here + backward[i] * back;
            if (!(before <= upper * (1 + kSlack))) continue;
            for (std::size_t j = i + 1; j <= n; ++j) {
                const double load = sum.between(i, j);
                const std::int32_t pin = problem.pinned[problem.order[j - 1]];
                if (load > mean + reach || !fits(bytes.between(i, j), problem.capacity[device])) break;
                if (pin >= 0 && pin != static_cast<std::int32_t>(device)) break;
                if (load < mean - reach) continue;
                const double total = before + (load - mean) * (load - mean);
                if (total < cost[k][j]) {
                    cost[k][j] = total;
                    start[k][j] = static_cast<std::uint32_t>(i);
                }
            }
        }
    }
    ChainResult result;
    result.cost = cost[pieces][n];
    if (result.cost == kInfinite) return result;
    result.labels.resize(n);
    for (std::size_t k = pieces, j = n; k > 0; --k) {
        const std::size_t i = start[k][j];
        for (std::size_t v = i; v < j; ++v)
            result.labels[problem.order[v]] = static_cast<std::int32_t>(devices[k - 1]);
        j = i;
    }
    return result;
}

}  // namespace dse::partition
