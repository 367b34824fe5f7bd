#include "partition/multilevel.hpp"

#include <numeric>
#include <utility>

#include "partition/cut_graph.hpp"

namespace dse::partition {

namespace {

constexpr std::size_t kCoarseNodesPerDevice = 24;
constexpr std::size_t kCoarseNodes = 120;
constexpr std::size_t kMostLevels = 40;
constexpr std::size_t kPopulation = 8;
constexpr std::size_t kLongestRow = 6000;
constexpr int kStartsPerPopulation = 10;
constexpr std::size_t kSegments = 2;  ///< per device, at least

/// Devices in an order in which near ones are next to each other: each is the nearest to those before it.
std::vector<std::uint32_t> nearest_first(const Problem& problem) {
    std::vector<std::uint32_t> order;
    std::vector<double> nearest(problem.devices, kInfinite);
    std::vector<bool> taken(problem.devices, false);
    for (std::size_t step = 0; step < problem.devices; ++step) {
        std::size_t best = problem.devices;
        for (std::size_t b = 0; b < problem.devices; ++b)
            if (!taken[b] && (best == problem.devices || nearest[b] < nearest[best])) best = b;
        taken[best] = true;
        order.push_back(static_cast<std::uint32_t>(best));
        for (std::size_t b = 0; b < problem.devices; ++b)
            nearest[b] = std::min(nearest[b], problem.distance(best, b) + problem.distance(b, best));
    }
    return order;
}

/// Exchanges the devices of whole pieces as long as that is cheaper (process mapping).
void exchange_devices(const CutGraph& graph, const Problem& problem, Labels& labels) {
    const std::size_t count = problem.devices;
    if (count > 256) return;
    for (const std::int32_t pin : problem.pinned)
        if (pin >= 0) return;
    for (const double bytes : problem.capacity)
        if (bytes < kInfinite) return;
    std::vector<double> traffic(count * count, 0.0);
    for (std::size_t v = 0; v < graph.nodes; ++v)
        for (std::uint32_t k = graph.start[v]; k < graph.start[v + 1]; ++k)
            traffic[static_cast<std::size_t>(labels[v]) * count +
                    static_cast<std::size_t>(labels[graph.neighbour[k]])] += graph.out[k];
    std::vector<std::uint32_t> device(count);
    std::iota(device.begin(), device.end(), 0U);
    const auto saved = [&](std::size_t i, std::size_t j) {
        double total = 0;
        const std::size_t a = device[i], b = device[j];
        for (std::size_t k = 0; k < count; ++k) {
            if (k == i || k == j) continue;
            const std::size_t c = device[k];
            total += (traffic[i * count + k] - traffic[j * count + k]) *
                         (problem.distance(a, c) - problem.distance(b, c)) +
                     (traffic[k * count + i] - traffic[k * count + j]) *
                         (problem.distance(c, a) - problem.distance(c, b));
        }
        return total + (traffic[i * count + j] - traffic[j * count + i]) *
                           (problem.distance(a, b) - problem.distance(b, a));
    };
    bool better = true;
    for (int round = 0; better && round < 20; ++round) {
        better = false;
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t j = i + 1; j < count; ++j)
                if (saved(i, j) > 1e-9) {
                    std::swap(device[i], device[j]);
                    better = true;
                }
    }
    for (std::int32_t& label : labels)
        label = static_cast<std::int32_t>(device[static_cast<std::size_t>(label)]);
}

struct Member {
    Labels labels;
    double cost = kInfinite;
    bool feasible = false;

    bool better_than(const Member& other) const {
        return feasible != other.feasible ? feasible : cost < other.cost;
    }
};

class Multilevel {
public:
    Multilevel(const Problem& problem, std::uint64_t seed, const std::function<bool()>& expired)
        : problem_(problem),
          expired_(expired),
          finest_(cut_graph(problem)),
          devices_(nearest_first(problem)),
          random_(seed) {
        heaviest_ = 1.5 * problem.total_weight() /
                    static_cast<double>(std::max(kCoarseNodes, kCoarseNodesPerDevice * problem.devices));
    }

    /// From nothing, or from the better one of two partitions: coarsening then keeps both, so that what they
    /// agree on stays and refinement decides the rest.
    Member cycle(const Member* first, const Member* second) {
        std::vector<CutGraph> graphs;
        std::vector<std::vector<std::uint32_t>> maps;
        std::vector<Labels> kept;
        if (first) kept.push_back(first->labels);
        if (second) kept.push_back(second->labels);
        const std::size_t enough = std::max(kCoarseNodes, kCoarseNodesPerDevice * problem_.devices);
        const CutGraph* graph = &finest_;
        graphs.reserve(kMostLevels);
        while (graphs.size() < kMostLevels && graph->nodes > enough) {
            std::vector<const Labels*> both;
            for (const Labels& labels : kept) both.push_back(&labels);
            std::vector<std::uint32_t> map;
            CutGraph coarse = coarsened(*graph, both, heaviest_, random_, map);
            if (static_cast<double>(coarse.nodes) > 0.97 * static_cast<double>(graph->nodes)) break;
            for (Labels& labels : kept) labels = at_coarse(labels, map, coarse.nodes);
            graphs.push_back(std::move(coarse));
            maps.push_back(std::move(map));
            graph = &graphs.back();
        }
        const bool loose = random_() % 2 == 0;
        Member member;
        member.labels = kept.empty() ? bisected(*graph, problem_, devices_, random_) : kept.front();
        if (kept.empty()) exchange_devices(*graph, problem_, member.labels);
        member.feasible = refine(*graph, problem_, member.labels, loose && !maps.empty(), random_, expired_);
        for (std::size_t level = maps.size(); level-- > 0;) {
            Labels fine(maps[level].size());
            for (std::size_t v = 0; v < fine.size(); ++v) fine[v] = member.labels[maps[level][v]];
            member.labels = std::move(fine);
            member.feasible = refine(level > 0 ? graphs[level - 1] : finest_, problem_, member.labels,
                                     loose && level > 0, random_, expired_);
        }
        exchange_devices(finest_, problem_, member.labels);
        member.cost = cut_cost(finest_, problem_, member.labels);
        return member;
    }

    /// From contiguous pieces of a row: long graphs, as those of models are. No labels if there are none.
    Member row(int kind) {
        if (finest_.nodes > kLongestRow || finest_.nodes < problem_.devices) return {};
        Labels labels = split_in_a_row(finest_, problem_, devices_, kind, random_);
        return labels.empty() ? Member{} : improve(std::move(labels));
    }

    /// From segments of a row, dealt out as wholes: a few narrow places may divide a graph better than any
    /// contiguous pieces do.
    Member segments(int kind) {
        if (finest_.nodes < 2 * problem_.devices) return {};
        const std::size_t count = problem_.devices * (kSegments << (random_() % 4));
        const std::vector<std::uint32_t> segment =
            row_segments(finest_, std::min(count, finest_.nodes), kind, random_);
        const CutGraph coarse =
            contracted(finest_, segment, *std::max_element(segment.begin(), segment.end()) + 1);
        Labels dealt = bisected(coarse, problem_, devices_, random_);
        refine(coarse, problem_, dealt, true, random_, expired_);
        Labels labels(finest_.nodes);
        for (std::size_t v = 0; v < labels.size(); ++v) {
            labels[v] = finest_.pinned[v] >= 0 ? finest_.pinned[v] : dealt[segment[v]];
        }
        return improve(std::move(labels));
    }

    Member improve(Labels labels) {
        Member member{std::move(labels), kInfinite, false};
        member.feasible = refine(finest_, problem_, member.labels, false, random_, expired_);
        member.cost = cut_cost(finest_, problem_, member.labels);
        return member;
    }

    Random& random() { return random_; }

private:
    static Labels at_coarse(const Labels& labels, const std::vector<std::uint32_t>& map, std::size_t nodes) {
        Labels coarse(nodes);
        for (std::size_t v = 0; v < labels.size(); ++v) coarse[map[v]] = labels[v];
        return coarse;
    }

    const Problem& problem_;
    const std::function<bool()>& expired_;
    CutGraph finest_;
    std::vector<std::uint32_t> devices_;
    Random random_;
    double heaviest_;
};

bool keeps_sharding(const Problem& problem, const Labels& labels) {
    if (problem.objective != Objective::kShardingCost) return true;
    std::vector<bool> used(problem.devices, false);
    for (const std::int32_t label : labels) used[static_cast<std::size_t>(label)] = true;
    return std::find(used.begin(), used.end(), false) == used.end();
}

bool keeps_pins(const Problem& problem, const Labels& labels) {
    for (std::size_t v = 0; v < problem.nodes; ++v)
        if (problem.pinned[v] >= 0 && labels[v] != problem.pinned[v]) return false;
    return true;
}

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

/// One population from its own starts: `starts` partitions, then `cycles` combinations of two of them.
void evolve(const Problem& problem, Multilevel& levels, const Effort& effort,
            const std::function<bool()>& expired, SearchResult& result) {
    std::vector<Member> population;
    if (!effort.known.empty()) add(population, levels.improve(effort.known));
    for (int start = 0; start < effort.starts; ++start) {
        if (start > 0 && expired()) break;
        add(population, levels.cycle(nullptr, nullptr));
        Member row = levels.row(start % 4);
        if (!row.labels.empty()) add(population, std::move(row));
        Member dealt = levels.segments(start % 4);
        if (!dealt.labels.empty()) add(population, std::move(dealt));
    }
    for (int cycle = 0; cycle < effort.cycles && !expired(); ++cycle) {
        const std::size_t first = levels.random()() % population.size();
        const std::size_t second = levels.random()() % population.size();
        const bool swapped = population[second].better_than(population[first]);
        const Member& better = population[swapped ? second : first];
        const Member& other = population[swapped ? first : second];
        add(population, levels.cycle(&better, first == second ? nullptr : &other));
    }
    for (Member& member : population) {
        if (!member.feasible || member.cost >= result.cost || !keeps_pins(problem, member.labels)) continue;
        if (!keeps_sharding(problem, member.labels)) continue;
        result.cost = member.cost;
        result.labels = std::move(member.labels);
    }
}

}  // namespace

SearchResult multilevel_cut(const Problem& problem, const Effort& effort,
                            const std::function<bool()>& expired) {
    Multilevel levels(problem, effort.seed, expired);
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
            return multilevel_cut(problem, effort, expired);
    }
}

}  // namespace dse::partition
