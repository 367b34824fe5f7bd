// The acyclic variant: coarsening that makes no cycles, stages from topological orders, moves that stay
// forward.
#include <cmath>
#include <numeric>
#include <queue>
#include <utility>

#include "partition/chains/chain.hpp"
#include "partition/heuristics/multilevel.hpp"
#include "partition/heuristics/stage_moves.hpp"

namespace dse::partition {

namespace {

constexpr std::size_t kCoarseStageNodes = 3000;
constexpr std::size_t kMostStageLevels = 12;
constexpr std::size_t kSmallChain = 4000;
constexpr std::size_t kMostChainProbes = 60;
constexpr std::size_t kMostStagePasses = 30, kLeastStagePasses = 3;
constexpr std::size_t kStageSteps = 100'000;  ///< nodes that the passes at a level look at, about

/// Contracts edges u -> v where v has no other predecessor, or u no other successor: then no other way leads
/// from u to v, so no cycle arises, and none by doing so one after the other.
std::vector<std::uint32_t> contractions(const Problem& problem, const Incidence& edges, double heaviest,
                                        std::mt19937_64& random, std::size_t& coarse_nodes) {
    std::vector<std::uint32_t> order(problem.nodes), mate(problem.nodes, UINT32_MAX);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random);
    const auto only = [&](const std::vector<std::uint32_t>& start, const std::vector<std::uint32_t>& list,
                          std::uint32_t v, bool out) {
        std::uint32_t found = UINT32_MAX;
        for (std::uint32_t k = start[v]; k < start[v + 1]; ++k) {
            const Edge& edge = problem.edges[list[k]];
            const std::uint32_t other = out ? edge.to : edge.from;
            if (found != UINT32_MAX && found != other) return UINT32_MAX;
            found = other;
        }
        return found;
    };
    for (const std::uint32_t v : order) {
        if (mate[v] != UINT32_MAX) continue;
        std::uint32_t u = only(edges.in_start, edges.in, v, false);
        if (u == UINT32_MAX || mate[u] != UINT32_MAX) u = only(edges.out_start, edges.out, v, true);
        if (u == UINT32_MAX || mate[u] != UINT32_MAX || problem.pinned[u] != problem.pinned[v]) continue;
        if (problem.weight[u] + problem.weight[v] > heaviest) continue;
        mate[v] = u;
        mate[u] = v;
    }
    std::vector<std::uint32_t> coarse_of(problem.nodes, UINT32_MAX);
    coarse_nodes = 0;
    for (const std::uint32_t v : problem.order) {
        if (coarse_of[v] != UINT32_MAX) continue;
        coarse_of[v] = static_cast<std::uint32_t>(coarse_nodes++);
        if (mate[v] != UINT32_MAX) coarse_of[mate[v]] = coarse_of[v];
    }
    return coarse_of;
}

/// A topological order; of the nodes that are ready a random one, or the one that became ready last.
std::vector<std::uint32_t> some_order(const Problem& problem, const Incidence& edges, bool deep,
                                      std::mt19937_64& random) {
    std::vector<std::uint32_t> waits(problem.nodes), ready, order;
    for (std::uint32_t v = 0; v < problem.nodes; ++v) {
        waits[v] = edges.in_start[v + 1] - edges.in_start[v];
        if (waits[v] == 0) ready.push_back(v);
    }
    std::shuffle(ready.begin(), ready.end(), random);
    while (!ready.empty()) {
        if (!deep) std::swap(ready[random() % ready.size()], ready.back());
        const std::uint32_t v = ready.back();
        ready.pop_back();
        order.push_back(v);
        const std::size_t before = ready.size();
        for (std::uint32_t k = edges.out_start[v]; k < edges.out_start[v + 1]; ++k)
            if (--waits[problem.edges[edges.out[k]].to] == 0) ready.push_back(problem.edges[edges.out[k]].to);
        std::shuffle(ready.begin() + static_cast<std::ptrdiff_t>(before), ready.end(), random);
    }
    return order;
}

Problem coarser(const Problem& problem, const std::vector<std::uint32_t>& coarse_of, std::size_t nodes) {
    Problem coarse = problem;
    coarse.nodes = nodes;
    coarse.weight.assign(nodes, 0.0);
    coarse.memory.assign(nodes, 0.0);
    coarse.pinned.assign(nodes, -1);
    coarse.edges.clear();
    for (std::size_t v = 0; v < problem.nodes; ++v) {
        coarse.weight[coarse_of[v]] += problem.weight[v];
        coarse.memory[coarse_of[v]] += problem.memory[v];
        coarse.pinned[coarse_of[v]] = problem.pinned[v];
    }
    for (Edge edge : problem.edges) {
        edge.from = coarse_of[edge.from];
        edge.to = coarse_of[edge.to];
        if (edge.from != edge.to) coarse.edges.push_back(edge);
    }
    coarse.leader.resize(nodes);
    std::iota(coarse.leader.begin(), coarse.leader.end(), 0U);
    std::mt19937_64 any(0);
    coarse.order.resize(nodes);
    std::iota(coarse.order.begin(), coarse.order.end(), 0U);
    coarse.order = some_order(coarse, Incidence(coarse), true, any);
    return coarse;
}

/// The chain of an order: each edge of it carries all that crosses there.
Problem chain_of(const Problem& problem, const std::vector<std::uint32_t>& order,
                 const std::vector<std::uint32_t>& position, bool with_links) {
    Problem chain = problem;
    chain.free_order = false;
    chain.order = order;
    chain.edges.clear();
    chain.tensors = 0;
    std::vector<std::uint32_t> place(problem.nodes), last(problem.tensors, 0);
    for (std::uint32_t k = 0; k < order.size(); ++k) place[order[k]] = k;
    std::vector<double> bytes(problem.nodes + 1, 0.0);
    if (with_links) {
        for (const Edge& edge : problem.edges)
            last[edge.tensor] = std::max(last[edge.tensor], place[edge.to]);
        std::vector<bool> seen(problem.tensors, false);
        for (const Edge& edge : problem.edges) {
            if (seen[edge.tensor]) continue;
            seen[edge.tensor] = true;
            bytes[place[edge.from] + 1] += edge.bytes;
            bytes[last[edge.tensor] + 1 <= problem.nodes ? last[edge.tensor] + 1 : problem.nodes] -=
                edge.bytes;
        }
        std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
    }
    for (std::uint32_t k = 0; k + 1 < order.size(); ++k)
        chain.edges.push_back({order[k], order[k + 1], chain.tensors++, std::max(0.0, bytes[k + 1])});
    const std::size_t count = problem.devices;
    std::vector<std::uint32_t> device_at(count);
    for (std::uint32_t d = 0; d < count; ++d) device_at[position[d]] = d;
    std::vector<double> latency(count * count, 0.0), per_byte(count * count, 0.0);
    for (std::size_t a = 0; a < count; ++a) {
        chain.speed[a] = problem.speed[device_at[a]];
        chain.capacity[a] = problem.capacity[device_at[a]];
        for (std::size_t b = 0; with_links && b < count; ++b) {
            latency[a * count + b] = problem.latency(device_at[a], device_at[b]);
            per_byte[a * count + b] = problem.per_byte(device_at[a], device_at[b]);
        }
    }
    chain.latency = Square(count, std::move(latency));
    chain.per_byte = Square(count, std::move(per_byte));
    for (std::int32_t& pin : chain.pinned)
        if (pin >= 0) pin = static_cast<std::int32_t>(position[static_cast<std::size_t>(pin)]);
    return chain;
}

/// Stages from an order of nodes, or none if pins and memory do not allow them there.
Labels stages_of(const Problem& problem, const std::vector<std::uint32_t>& order,
                 const std::vector<std::uint32_t>& position, const std::function<bool()>& expired) {
    const bool small = problem.nodes <= kSmallChain && problem.devices <= 128;
    const Problem chain = chain_of(problem, order, position, small);
    ChainResult found = chain_bottleneck(chain, kInfinite, expired, kMostChainProbes);
    std::vector<std::uint32_t> device_at(problem.devices);
    for (std::uint32_t d = 0; d < problem.devices; ++d) device_at[position[d]] = d;
    for (std::int32_t& label : found.labels)
        label = static_cast<std::int32_t>(device_at[static_cast<std::size_t>(label)]);
    return std::move(found.labels);
}

std::vector<std::uint32_t> some_positions(const Problem& problem, int start, std::mt19937_64& random) {
    std::vector<std::uint32_t> device_at(problem.devices), position(problem.devices);
    std::iota(device_at.begin(), device_at.end(), 0U);
    if (problem.free_order && start > 0) std::shuffle(device_at.begin(), device_at.end(), random);
    for (std::uint32_t k = 0; k < problem.devices; ++k) position[device_at[k]] = k;
    return position;
}

void improve_stages(const Problem& problem, const std::vector<std::uint32_t>& position, Labels& labels,
                    double& cost, bool& feasible, std::mt19937_64& random,
                    const std::function<bool()>& expired) {
    const Incidence edges(problem);
    StageMoves moves(problem, edges, labels, position);
    const std::size_t passes = std::clamp(kStageSteps / problem.nodes, kLeastStagePasses, kMostStagePasses);
    for (std::size_t pass = 0; pass < passes && moves.pass(random) && !expired(); ++pass) {
    }
    labels = moves.labels();
    cost = moves.bottleneck();
    feasible = moves.within_memory();
}

}  // namespace

SearchResult multilevel_pipeline(const Problem& problem, const Effort& effort,
                                 const std::function<bool()>& expired) {
    std::mt19937_64 random(effort.seed);
    const double heaviest = problem.total_weight() / (8.0 * static_cast<double>(problem.devices));
    SearchResult result;
    for (int start = 0; start < effort.starts + effort.cycles; ++start) {
        if (start > 0 && expired()) break;
        std::vector<Problem> levels;
        std::vector<std::vector<std::uint32_t>> maps;
        levels.reserve(kMostStageLevels);
        const Problem* level = &problem;
        while (levels.size() < kMostStageLevels && level->nodes > kCoarseStageNodes) {
            std::size_t nodes = 0;
            std::vector<std::uint32_t> map = contractions(*level, Incidence(*level), heaviest, random, nodes);
            if (static_cast<double>(nodes) > 0.95 * static_cast<double>(level->nodes)) break;
            levels.push_back(coarser(*level, map, nodes));
            maps.push_back(std::move(map));
            level = &levels.back();
        }
        const std::vector<std::uint32_t> position = some_positions(problem, start, random);
        const bool deep = start % 3 != 2;
        const std::vector<std::uint32_t> order =
            start == 0 ? level->order : some_order(*level, Incidence(*level), deep, random);
        Labels labels = stages_of(*level, order, position, expired);
        if (labels.empty()) continue;
        double cost = kInfinite;
        bool feasible = false;
        improve_stages(*level, position, labels, cost, feasible, random, expired);
        for (std::size_t k = maps.size(); k-- > 0;) {
            Labels fine(maps[k].size());
            for (std::size_t v = 0; v < fine.size(); ++v) fine[v] = labels[maps[k][v]];
            labels = std::move(fine);
            improve_stages(k > 0 ? levels[k - 1] : problem, position, labels, cost, feasible, random,
                           expired);
        }
        if (feasible && cost < result.cost) {
            result.cost = cost;
            result.labels = std::move(labels);
        }
    }
    return result;
}

}  // namespace dse::partition
