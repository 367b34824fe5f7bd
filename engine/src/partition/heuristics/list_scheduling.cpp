// `latency`: earliest finish in the order of execution, then moves of single groups.
#include <numeric>
#include <random>

#include "partition/heuristics/multilevel.hpp"

namespace dse::partition {

namespace {

constexpr std::size_t kMostSteps = 40'000'000;  ///< of nodes and edges in moves that are tried

class Schedule {
public:
    explicit Schedule(const Problem& problem)
        : problem_(problem), edges_(problem), finish_(problem.nodes), free_(problem.devices) {}

    /// When `node` would finish on device b, after all before it in the order.
    double finish_on(std::uint32_t node, std::uint32_t b, const Labels& labels) const {
        double start = free_[b];
        for (std::uint32_t k = edges_.in_start[node]; k < edges_.in_start[node + 1]; ++k) {
            const Edge& edge = problem_.edges[edges_.in[k]];
            const auto a = static_cast<std::size_t>(labels[edge.from]);
            start = std::max(start, finish_[edge.from] + problem_.transfer(a, b, edge.bytes));
        }
        return start + problem_.weight[node] / problem_.speed[b];
    }

    /// Gives up once nodes finish after `upper`.
    double makespan(const Labels& labels, double upper) {
        reset();
        double last = 0;
        for (const std::uint32_t v : problem_.order) {
            const auto b = static_cast<std::uint32_t>(labels[v]);
            free_[b] = finish_[v] = finish_on(v, b, labels);
            last = std::max(last, finish_[v]);
            if (last >= upper) return kInfinite;
        }
        return last;
    }

    /// Each group where its first node finishes first, among devices with room; `noise` makes starts differ.
    Labels greedy(const std::vector<double>& group_memory, double noise, std::mt19937_64& random) {
        reset();
        Labels labels(problem_.nodes, -1);
        std::vector<double> room = problem_.capacity;
        std::uniform_real_distribution<double> draw(1 - noise, 1 + noise);
        for (std::size_t v = 0; v < problem_.nodes; ++v)
            if (problem_.leader[v] == v && problem_.pinned[v] >= 0)
                room[static_cast<std::size_t>(problem_.pinned[v])] -= group_memory[v];
        for (const std::uint32_t v : problem_.order) {
            std::int32_t chosen = problem_.pinned[v] >= 0 ? problem_.pinned[v] : labels[problem_.leader[v]];
            if (chosen < 0) {
                double best = kInfinite;
                for (std::uint32_t b = 0; b < problem_.devices; ++b) {
                    if (!fits(group_memory[v], room[b])) continue;
                    const double finish = finish_on(v, b, labels) * draw(random);
                    if (finish < best) {
                        best = finish;
                        chosen = static_cast<std::int32_t>(b);
                    }
                }
                if (chosen < 0) return {};
                room[static_cast<std::size_t>(chosen)] -= group_memory[v];
            }
            labels[v] = chosen;
            const auto b = static_cast<std::uint32_t>(chosen);
            free_[b] = finish_[v] = finish_on(v, b, labels);
        }
        return labels;
    }

private:
    void reset() {
        std::fill(finish_.begin(), finish_.end(), 0.0);
        std::fill(free_.begin(), free_.end(), 0.0);
    }

    const Problem& problem_;
    Incidence edges_;
    std::vector<double> finish_, free_;
};

bool keeps_memory(const Problem& problem, const Labels& labels) {
    std::vector<double> need(problem.devices, 0.0);
    for (std::size_t v = 0; v < problem.nodes; ++v)
        need[static_cast<std::size_t>(labels[v])] += problem.memory[v];
    for (std::size_t d = 0; d < problem.devices; ++d)
        if (!fits(need[d], problem.capacity[d])) return false;
    return true;
}

}  // namespace

SearchResult list_scheduling(const Problem& problem, const Effort& effort,
                             const std::function<bool()>& expired) {
    Schedule schedule(problem);
    std::mt19937_64 random(effort.seed);
    std::vector<std::vector<std::uint32_t>> group(problem.nodes);
    std::vector<double> group_memory(problem.nodes, 0.0);
    std::vector<std::uint32_t> movable;
    for (std::uint32_t v = 0; v < problem.nodes; ++v) {
        group[problem.leader[v]].push_back(v);
        group_memory[problem.leader[v]] += problem.memory[v];
        if (problem.leader[v] == v && problem.pinned[v] < 0) movable.push_back(v);
    }
    SearchResult result;
    const auto keep = [&](const Labels& labels) {
        if (labels.empty() || !keeps_memory(problem, labels)) return false;
        const double cost = schedule.makespan(labels, result.cost);
        if (cost >= result.cost) return false;
        result.cost = cost;
        result.labels = labels;
        return true;
    };
    keep(effort.known);
    for (int start = 0; start < effort.starts + effort.cycles && !(start > 0 && expired()); ++start)
        keep(schedule.greedy(group_memory, start == 0 ? 0.0 : 0.05 * (start % 6), random));
    for (std::int32_t b = 0; b < static_cast<std::int32_t>(problem.devices); ++b) {  // all on one device
        Labels labels(problem.nodes, b);
        for (std::size_t v = 0; v < problem.nodes; ++v)
            if (problem.pinned[v] >= 0) labels[v] = problem.pinned[v];
        keep(labels);
    }
    if (result.labels.empty() || movable.empty() || problem.devices < 2) return result;
    const std::size_t tries = kMostSteps / (problem.nodes + problem.edges.size() + 1);
    for (std::size_t k = 0, idle = 0; k < tries && idle < 40 * movable.size(); ++k, ++idle) {
        if ((k & 15U) == 0 && expired()) break;
        const std::uint32_t v = movable[random() % movable.size()];
        const auto b = static_cast<std::int32_t>(random() % problem.devices);
        if (b == result.labels[v]) continue;
        Labels labels = result.labels;
        for (const std::uint32_t u : group[v]) labels[u] = b;
        if (keep(labels)) idle = 0;
    }
    return result;
}

}  // namespace dse::partition
