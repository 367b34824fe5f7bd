// Partitions of a graph that is laid out in a row: the cheapest contiguous pieces, by dynamic programming.
#include <deque>
#include <iterator>
#include <numeric>
#include <set>

#include "partition/cuts/cut_graph.hpp"

namespace dse::partition {

namespace {

/// Depth first, breadth first, or by index, from a random node; of what is not connected another one.
std::vector<std::uint32_t> some_row(const CutGraph& graph, int kind, Random& random) {
    std::vector<std::uint32_t> row;
    std::vector<char> seen(graph.nodes, 0);
    std::vector<std::uint32_t> starts(graph.nodes);
    std::iota(starts.begin(), starts.end(), 0U);
    if (kind == 0) return starts;
    std::shuffle(starts.begin(), starts.end(), random);
    std::deque<std::uint32_t> waiting;
    std::vector<std::uint32_t> next;
    for (const std::uint32_t start : starts) {
        if (!seen[start]) waiting.push_back(start);
        while (!waiting.empty()) {
            const bool deep = kind == 1;
            const std::uint32_t v = deep ? waiting.back() : waiting.front();
            deep ? waiting.pop_back() : waiting.pop_front();
            if (seen[v]) continue;
            seen[v] = 1;
            row.push_back(v);
            next.assign(graph.neighbour.begin() + graph.start[v],
                        graph.neighbour.begin() + graph.start[v + 1]);
            std::shuffle(next.begin(), next.end(), random);
            for (const std::uint32_t u : next)
                if (!seen[u]) waiting.push_back(u);
        }
    }
    return row;
}

/// Breadth first from the end of another such row: a long graph is then in the order of its length.
std::vector<std::uint32_t> long_row(const CutGraph& graph, Random& random) {
    std::vector<std::uint32_t> row = some_row(graph, 2, random);
    std::vector<std::uint32_t> order;
    std::vector<char> seen(graph.nodes, 0);
    std::deque<std::uint32_t> waiting;
    for (auto start = row.rbegin(); start != row.rend(); ++start) {
        if (!seen[*start]) waiting.push_back(*start);
        while (!waiting.empty()) {
            const std::uint32_t v = waiting.front();
            waiting.pop_front();
            if (seen[v]) continue;
            seen[v] = 1;
            order.push_back(v);
            for (std::uint32_t k = graph.start[v]; k < graph.start[v + 1]; ++k)
                if (!seen[graph.neighbour[k]]) waiting.push_back(graph.neighbour[k]);
        }
    }
    return order;
}

std::vector<std::uint32_t> row_of(const CutGraph& graph, int kind, Random& random) {
    return kind == 3 ? long_row(graph, random) : some_row(graph, kind, random);
}

/// The cost of the edges that cross the place before each node of a row.
std::vector<double> crossings(const CutGraph& graph, const std::vector<std::uint32_t>& row) {
    std::vector<std::uint32_t> place(graph.nodes);
    for (std::uint32_t k = 0; k < graph.nodes; ++k) place[row[k]] = k;
    std::vector<double> crossing(graph.nodes + 1, 0.0);
    for (std::uint32_t v = 0; v < graph.nodes; ++v)
        for (std::uint32_t e = graph.start[v]; e < graph.start[v + 1]; ++e) {
            const std::uint32_t from = place[v], to = place[graph.neighbour[e]];
            if (from >= to) continue;
            crossing[from + 1] += graph.out[e] + graph.in[e];
            crossing[to + 1] -= graph.out[e] + graph.in[e];
        }
    std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
    return crossing;
}

}  // namespace

std::vector<std::uint32_t> row_segments(const CutGraph& graph, std::size_t count, int kind, Random& random) {
    const std::vector<std::uint32_t> row = row_of(graph, kind, random);
    const std::vector<double> crossing = crossings(graph, row);
    std::vector<double> sum(graph.nodes + 1, 0.0);
    for (std::size_t k = 0; k < graph.nodes; ++k) sum[k + 1] = sum[k] + graph.weight[row[k]];
    std::vector<std::uint32_t> places(graph.nodes - 1);
    std::iota(places.begin(), places.end(), 1U);
    std::shuffle(places.begin(), places.end(), random);
    std::stable_sort(places.begin(), places.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return crossing[a] < crossing[b]; });
    const double apart = sum.back() / (4 * static_cast<double>(count));
    std::set<std::uint32_t> ends{0, static_cast<std::uint32_t>(graph.nodes)};
    for (const std::uint32_t place : places) {
        if (ends.size() > count) break;
        const auto after = ends.upper_bound(place);
        if (sum[*after] - sum[place] >= apart && sum[place] - sum[*std::prev(after)] >= apart)
            ends.insert(place);
    }
    std::vector<std::uint32_t> segment(graph.nodes);
    std::uint32_t number = 0;
    for (auto end = std::next(ends.begin()); end != ends.end(); ++end, ++number)
        for (std::uint32_t k = *std::prev(end); k < *end; ++k) segment[row[k]] = number;
    return segment;
}

Labels split_in_a_row(const CutGraph& graph, const Problem& problem,
                      const std::vector<std::uint32_t>& devices, int kind, Random& random) {
    const std::vector<std::uint32_t> row = row_of(graph, kind, random);
    const std::size_t n = graph.nodes, pieces = devices.size();
    std::vector<std::uint32_t> place(n);
    std::vector<double> sum(n + 1, 0.0);
    for (std::uint32_t k = 0; k < n; ++k) {
        place[row[k]] = k;
        sum[k + 1] = sum[k] + graph.weight[row[k]];
    }
    const bool sharding = problem.objective == Objective::kShardingCost;
    const double mean = sum[n] / static_cast<double>(pieces);
    const double heaviest = *std::max_element(graph.weight.begin(), graph.weight.end());
    const double limit = std::min(problem.weight_limit, 1.1 * mean + heaviest) * (1 + kSlack);
    std::vector<std::vector<double>> cost(pieces + 1, std::vector<double>(n + 1, kInfinite));
    std::vector<std::vector<std::uint32_t>> start(pieces + 1, std::vector<std::uint32_t>(n + 1, 0));
    cost[0][0] = 0;
    for (std::size_t k = 1; k <= pieces; ++k) {
        // The most that the pieces so far hold, and the least that those to come leave.
        const double least = sum[n] - limit * static_cast<double>(pieces - k);
        for (std::size_t j = k; j <= n; ++j) {
            if (sum[j] < least || sum[j] > limit * static_cast<double>(k)) continue;
            double leaving = 0;
            for (std::size_t i = j; i-- > k - 1 && sum[j] - sum[i] <= limit;) {
                for (std::uint32_t e = graph.start[row[i]]; e < graph.start[row[i] + 1]; ++e)
                    if (place[graph.neighbour[e]] >= j) leaving += graph.out[e] + graph.in[e];
                if (cost[k - 1][i] == kInfinite) continue;
                const double off = sum[j] - sum[i] - mean;
                const double total = cost[k - 1][i] + leaving + (sharding ? off * off : 0.0);
                if (total < cost[k][j]) {
                    cost[k][j] = total;
                    start[k][j] = static_cast<std::uint32_t>(i);
                }
            }
        }
    }
    if (cost[pieces][n] == kInfinite) return {};
    Labels labels(n);
    for (std::size_t k = pieces, j = n; k > 0; --k) {
        for (std::size_t v = start[k][j]; v < j; ++v)
            labels[row[v]] = static_cast<std::int32_t>(devices[k - 1]);
        j = start[k][j];
    }
    for (std::size_t v = 0; v < n; ++v)
        if (graph.pinned[v] >= 0) labels[v] = graph.pinned[v];
    return labels;
}

}  // namespace dse::partition
