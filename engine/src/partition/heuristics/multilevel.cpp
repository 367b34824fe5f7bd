#include "partition/heuristics/multilevel.hpp"

#include <utility>

#include "partition/cuts/cut_cycles.hpp"
#include "partition/heuristics/population.hpp"

namespace dse::partition {

namespace {

constexpr std::size_t kPopulation = 8;
constexpr int kStartsPerPopulation = 10;
constexpr int kSplitsPerCycle = 6, kMostLastSplits = 40;
constexpr double kHopeless = 2;  ///< times the best cost, of a start in a large graph that is not refined

/// Keeps the best few; a child takes the place of the worst.
void add(std::vector<Member>& population, Member member) {
    if (population.size() < kPopulation) {
        population.push_back(std::move(member));
        return;
    }
    const auto worst = std::max_element(population.begin(), population.end(),
                                        [](const Member& a, const Member& b) { return a.better_than(b); });
    if (member.better_than(*worst)) *worst = std::move(member);
}

Member& best_of(std::vector<Member>& population) {
    return *std::min_element(population.begin(), population.end(),
                             [](const Member& a, const Member& b) { return a.better_than(b); });
}

/// One population from its own starts: `starts` partitions, then `cycles` combinations of two of them.
void evolve(const Problem& problem, CutCycles& levels, const Effort& effort,
            const std::function<bool()>& expired, SearchResult& result) {
    std::vector<Member> population;
    if (!effort.known.empty()) add(population, levels.improve(effort.known));
    for (int start = 0; start < effort.starts; ++start) {
        if (start > 0 && expired()) break;
        add(population, levels.cycle(nullptr, nullptr));
        if (problem.nodes < kLarge && start % 2 == 0 && !expired()) add(population, levels.halves());
        Member row = levels.row(start % 4);
        if (!row.labels.empty()) add(population, std::move(row));
        const bool choosy = problem.nodes >= kLarge && best_of(population).feasible;
        Member dealt = levels.segments(start % 4, choosy ? kHopeless * best_of(population).cost : kInfinite);
        if (!dealt.labels.empty()) add(population, std::move(dealt));
    }
    for (int cycle = 0; cycle < effort.cycles && !expired(); ++cycle) {
        const std::size_t first = levels.random()() % population.size();
        const std::size_t second = levels.random()() % population.size();
        const bool swapped = population[second].better_than(population[first]);
        const Member& better = population[swapped ? second : first];
        const Member& other = population[swapped ? first : second];
        Member child = levels.cycle(&better, first == second ? nullptr : &other);
        levels.split_anew(child, problem.nodes < kLarge ? kSplitsPerCycle : 1);
        add(population, std::move(child));
    }
    Member& best = best_of(population);
    levels.split_anew(best, std::min(kMostLastSplits, effort.cycles));
    keep_best(problem, population, result);
}

}  // namespace

SearchResult multilevel_cut(const Problem& problem, const Effort& effort,
                            const std::function<bool()>& expired) {
    CutCycles levels(problem, cut_graph(problem), effort.seed, expired);
    SearchResult result;
    // Populations become alike: after some cycles a new one finds more than a longer life does.
    Effort left = effort;
    do {
        Effort now = left;
        now.starts = std::min(left.starts, kStartsPerPopulation);
        now.cycles =
            left.starts <= kStartsPerPopulation ? left.cycles : std::min(left.cycles, 3 * now.starts);
        evolve(problem, levels, now, expired, result);
        left.starts -= now.starts;
        left.cycles -= now.cycles;
    } while (left.starts > 0 && !expired());
    return result;
}

SearchResult multilevel(const Problem& problem, const Effort& effort, const std::function<bool()>& expired) {
    switch (problem.objective) {
        case Objective::kPipelineBottleneck:
            return multilevel_pipeline(problem, effort, expired);
        case Objective::kLatency:
            return list_scheduling(problem, effort, expired);
        default:
            if (effort.by_flows && problem.objective == Objective::kProcessMapping)
                return deep_cut(problem, effort, expired);
            return multilevel_cut(problem, effort, expired);
    }
}

}  // namespace dse::partition
