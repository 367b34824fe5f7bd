// Cuts of large graphs: few partitions, each through clusters and flows, combined as long as there is time.
#include <utility>

#include "partition/heuristics/multilevel.hpp"
#include "partition/heuristics/population.hpp"

namespace dse::partition {

namespace {

constexpr std::size_t kFewMembers = 3, kMostMembers = 16;
constexpr std::size_t kOperationsPerMember = 3;

/// Edges that one of two partitions cuts and the other does not.
std::size_t difference(const Problem& problem, const Labels& a, const Labels& b) {
    std::size_t count = 0;
    for (const Edge& edge : problem.edges)
        count += (a[edge.from] != a[edge.to]) != (b[edge.from] != b[edge.to]) ? 1 : 0;
    return count;
}

/// A child takes the place of the member that is most like it, of those that are no better.
void replace(const Problem& problem, std::vector<Member>& population, Member child) {
    std::size_t place = population.size(), least = SIZE_MAX;
    for (std::size_t k = 0; k < population.size(); ++k) {
        if (population[k].better_than(child)) continue;
        const std::size_t unlike = difference(problem, population[k].labels, child.labels);
        if (unlike < least) {
            least = unlike;
            place = k;
        }
    }
    if (place < population.size()) population[place] = std::move(child);
}

/// The better one of two by chance.
const Member& drawn(const std::vector<Member>& population, Random& random) {
    const Member& a = population[random() % population.size()];
    const Member& b = population[random() % population.size()];
    return b.better_than(a) ? b : a;
}

}  // namespace

/// A population that grows slowly, so that any time is used: few starts that are combined often, more of them
/// the longer it lasts.
SearchResult deep_cut(const Problem& problem, const Effort& effort, const std::function<bool()>& expired) {
    CutCycles levels(problem, cut_graph(problem), effort.seed, expired);
    std::vector<Member> population;
    if (!effort.known.empty()) population.push_back(levels.improve(effort.known));
    int starts = effort.starts, cycles = effort.cycles;
    for (std::size_t step = 0; starts + cycles > 0 && (population.empty() || !expired()); ++step) {
        const std::size_t enough = std::min(kMostMembers, std::max(kFewMembers, step / kOperationsPerMember));
        if (starts > 0 && (population.size() < enough || cycles == 0)) {
            population.push_back(levels.deep_cycle(nullptr, nullptr));
            --starts;
            continue;
        }
        if (cycles-- <= 0) break;
        const Member& first = drawn(population, levels.random());
        const Member& second = drawn(population, levels.random());
        const bool swapped = second.better_than(first);
        Member child = levels.deep_cycle(swapped ? &second : &first,
                                         &first == &second ? nullptr : (swapped ? &first : &second));
        replace(problem, population, std::move(child));
    }
    SearchResult result;
    keep_best(problem, population, result);
    return result;
}

}  // namespace dse::partition
