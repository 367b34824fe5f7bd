#include "partition/pieces/pieces.hpp"

#include "partition/pieces/pieces_sweep.hpp"

namespace dse::partition {

namespace {

constexpr std::size_t kMostSweeps = 40;
constexpr std::size_t kLeastStates = 16, kMostStates = 3000;

CostedGraph graph_of(const Problem& problem, const std::vector<double>& cost) {
    CostedGraph graph;
    graph.weight = problem.weight;
    graph.ends.resize(problem.nodes);
    for (std::size_t i = 0; i < cost.size(); ++i) {
        if (cost[i] <= 0) continue;
        const auto edge = static_cast<std::uint32_t>(graph.cost.size());
        graph.cost.push_back(cost[i]);
        graph.ends[problem.edges[i].from].push_back({problem.edges[i].to, edge});
        graph.ends[problem.edges[i].to].push_back({problem.edges[i].from, edge});
    }
    graph.use.assign(graph.cost.size(), EdgeUse::kOpen);
    return graph;
}

/// Backwards first, for what the rest costs at least, then forwards.
SweepResult there_and_back(CostedGraph& graph, SweepPlan plan, const std::function<bool()>& expired) {
    const std::vector<EdgeUse> before = graph.use;
    std::reverse(plan.order.begin(), plan.order.end());
    SweepResult back = sweep_pieces(graph, plan, expired);
    if (back.is_exact || back.least.size() <= plan.order.size()) return back;
    std::vector<EdgeUse> after = std::move(graph.use);
    graph.use = before;
    std::reverse(plan.order.begin(), plan.order.end());
    plan.rest.assign(back.least.rbegin(), back.least.rend());
    SweepResult found = sweep_pieces(graph, plan, expired);
    if (found.bound >= back.bound) return found;
    graph.use = std::move(after);
    return back;
}

}  // namespace

PiecesResult least_cut_into_pieces(const Problem& problem, const std::vector<double>& cost, double limit,
                                   double upper, std::size_t effort, const std::function<bool()>& expired) {
    CostedGraph graph = graph_of(problem, cost);
    PiecesResult result;
    SweepPlan plan;
    plan.limit = limit;
    plan.most_states =
        std::clamp(effort / std::max<std::size_t>(1, problem.nodes), kLeastStates, kMostStates);
    for (std::size_t sweep = 0; sweep < kMostSweeps; ++sweep) {
        plan.upper = (upper - result.bound) * (1 - kSlack / 10);
        plan.order = problem.order;
        CostedGraph other = graph;
        SweepResult found = there_and_back(graph, plan, expired);
        if (found.bound < plan.upper && !found.is_exact) {
            plan.order = narrow_order(other, expired);
            const SweepResult none;
            SweepResult narrow = plan.order.empty() ? none : there_and_back(other, plan, expired);
            if (narrow.bound > found.bound || narrow.is_exact) {
                found = std::move(narrow);
                graph = std::move(other);
            }
        }
        result.bound += found.bound;
        if (sweep == 0 && found.is_exact) {
            result.complete = true;
            result.piece = std::move(found.piece);
        }
        const bool is_done = std::all_of(graph.use.begin(), graph.use.end(),
                                         [](EdgeUse use) { return use == EdgeUse::kCounted; });
        if (is_done || found.bound <= 0 || found.bound >= plan.upper || expired()) break;
    }
    return result;
}

}  // namespace dse::partition
