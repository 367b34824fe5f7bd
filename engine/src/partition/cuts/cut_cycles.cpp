#include "partition/cuts/cut_cycles.hpp"

#include <numeric>
#include <utility>

namespace dse::partition {

namespace {

constexpr std::size_t kCoarseNodesPerDevice = 24;
constexpr std::size_t kLongestRow = 6000;
constexpr std::size_t kSegments = 2;           ///< per device, at least
constexpr double kMostLoaded = 1.5;            ///< times the mean, of segments that are worth refining
constexpr std::size_t kFewest = 2, kMost = 4;  ///< devices that are split again

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

/// The nodes of some devices alone, whose other edges are left out.
struct Part {
    std::vector<std::uint32_t> nodes, devices;
    CutGraph graph;
    Problem problem;
};

Square square_of(const Square& all, const std::vector<std::uint32_t>& devices) {
    std::vector<double> values;
    for (const std::uint32_t a : devices)
        for (const std::uint32_t b : devices) values.push_back(all(a, b));
    return {devices.size(), std::move(values)};
}

Part part_of(const CutGraph& graph, const Problem& problem, const Labels& labels,
             std::vector<std::uint32_t> devices) {
    Part part;
    std::vector<std::int32_t> place(problem.devices, -1);
    for (std::size_t k = 0; k < devices.size(); ++k) place[devices[k]] = static_cast<std::int32_t>(k);
    std::vector<std::uint32_t> index(graph.nodes, 0);
    for (std::uint32_t v = 0; v < graph.nodes; ++v) {
        if (place[static_cast<std::size_t>(labels[v])] < 0) continue;
        index[v] = static_cast<std::uint32_t>(part.nodes.size());
        part.nodes.push_back(v);
    }
    part.graph.nodes = part.nodes.size();
    part.graph.start.assign(1, 0);
    for (const std::uint32_t v : part.nodes) {
        part.graph.weight.push_back(graph.weight[v]);
        part.graph.memory.push_back(graph.memory[v]);
        part.graph.pinned.push_back(graph.pinned[v] < 0 ? -1
                                                        : place[static_cast<std::size_t>(graph.pinned[v])]);
        for (std::uint32_t k = graph.start[v]; k < graph.start[v + 1]; ++k) {
            if (place[static_cast<std::size_t>(labels[graph.neighbour[k]])] < 0) continue;
            part.graph.neighbour.push_back(index[graph.neighbour[k]]);
            part.graph.out.push_back(graph.out[k]);
            part.graph.in.push_back(graph.in[k]);
        }
        part.graph.start.push_back(static_cast<std::uint32_t>(part.graph.neighbour.size()));
    }
    part.problem.objective = problem.objective;
    part.problem.devices = devices.size();
    part.problem.nodes = part.graph.nodes;
    part.problem.weight = part.graph.weight;
    part.problem.pinned = part.graph.pinned;
    part.problem.distance = square_of(problem.distance, devices);
    for (const std::uint32_t d : devices) part.problem.capacity.push_back(problem.capacity[d]);
    part.problem.weight_limit = problem.weight_limit;
    part.devices = std::move(devices);
    return part;
}

}  // namespace

CutCycles::CutCycles(const Problem& problem, CutGraph graph, std::uint64_t seed,
                     const std::function<bool()>& expired)
    : problem_(problem),
      expired_(expired),
      finest_(std::move(graph)),
      devices_(nearest_first(problem)),
      random_(seed) {
    heaviest_ = 1.5 * problem.total_weight() /
                static_cast<double>(std::max(kCoarseNodes, kCoarseNodesPerDevice * problem.devices));
}

Member CutCycles::cycle(const Member* first, const Member* second) {
    const std::size_t enough = std::max(kCoarseNodes, kCoarseNodesPerDevice * problem_.devices);
    const Levels levels =
        coarsen(first, second, enough, [&](const CutGraph& graph, const auto& both, auto& map) {
            return coarsened(graph, both, heaviest_, random_, map);
        });
    const bool sharding = problem_.objective == Objective::kShardingCost;
    const bool loose = random_() % (sharding ? 4 : 2) != 1 || (sharding && finest_.nodes >= kLarge);
    const CutGraph& coarsest = levels.coarsest();
    Member member;
    member.labels =
        levels.kept.empty() ? bisected(coarsest, problem_, devices_, random_) : levels.kept.front();
    if (levels.kept.empty()) exchange_devices(coarsest, problem_, member.labels);
    member.feasible =
        refine(coarsest, problem_, member.labels, loose && !levels.maps.empty(), random_, expired_);
    for (std::size_t level = levels.maps.size(); level-- > 0;) {
        member.labels = levels.finer(level, member.labels);
        const CutGraph& finer = levels.at(level);
        if (loose && level == 0 && sharding) refine(finer, problem_, member.labels, true, random_, expired_);
        member.feasible = refine(finer, problem_, member.labels, loose && level > 0, random_, expired_);
    }
    exchange_devices(finest_, problem_, member.labels);
    member.cost = cut_cost(finest_, problem_, member.labels);
    return member;
}

Member CutCycles::halves() {
    Labels labels = halved(finest_, problem_, devices_, random_, expired_);
    exchange_devices(finest_, problem_, labels);
    if (problem_.objective == Objective::kShardingCost)
        refine(finest_, problem_, labels, true, random_, expired_);
    return improve(std::move(labels));
}

Member CutCycles::row(int kind) {
    if (finest_.nodes > kLongestRow || finest_.nodes < problem_.devices) return {};
    Labels labels = split_in_a_row(finest_, problem_, devices_, kind, random_);
    return labels.empty() ? Member{} : improve(std::move(labels));
}

Member CutCycles::segments(int kind, double most) {
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
    if (most < kInfinite && is_hopeless(labels, most)) return {};
    if (problem_.objective == Objective::kShardingCost)
        refine(finest_, problem_, labels, true, random_, expired_);
    return improve(std::move(labels));
}

bool CutCycles::is_hopeless(const Labels& labels, double most) const {
    if (edge_cost(finest_, problem_, labels) > most) return true;
    std::vector<double> load(problem_.devices, 0.0);
    for (std::size_t v = 0; v < finest_.nodes; ++v)
        load[static_cast<std::size_t>(labels[v])] += finest_.weight[v];
    const double mean = problem_.total_weight() / static_cast<double>(problem_.devices);
    return *std::max_element(load.begin(), load.end()) > kMostLoaded * std::min(mean, problem_.weight_limit);
}

Member CutCycles::improve(Labels labels) {
    Member member{std::move(labels), kInfinite, false};
    member.feasible = refine(finest_, problem_, member.labels, false, random_, expired_);
    member.cost = cut_cost(finest_, problem_, member.labels);
    return member;
}

/// A device and others, one after the other, that an edge joins to one of those chosen.
std::vector<std::uint32_t> CutCycles::some_neighbours(const Labels& labels, std::size_t most) {
    const std::size_t count = kFewest + random_() % (most - kFewest + 1);
    std::vector<std::uint32_t> chosen{static_cast<std::uint32_t>(labels[random_() % finest_.nodes])};
    const auto is_chosen = [&](std::uint32_t node) {
        return std::find(chosen.begin(), chosen.end(), static_cast<std::uint32_t>(labels[node])) !=
               chosen.end();
    };
    std::size_t before = 0;
    while (chosen.size() < count && chosen.size() != before) {
        before = chosen.size();
        const std::size_t start = random_() % finest_.nodes;
        for (std::size_t k = 0; k < finest_.nodes && chosen.size() == before; ++k) {
            const auto v = static_cast<std::uint32_t>((start + k) % finest_.nodes);
            if (!is_chosen(v)) continue;
            for (std::uint32_t e = finest_.start[v]; e < finest_.start[v + 1]; ++e) {
                if (is_chosen(finest_.neighbour[e])) continue;
                chosen.push_back(static_cast<std::uint32_t>(labels[finest_.neighbour[e]]));
                break;
            }
        }
    }
    return chosen;
}

void CutCycles::split_anew(Member& member, int times) {
    for (int k = 0; k < times && !expired_(); ++k)
        split_some(member, kMost, [](CutCycles& part) {
            return part.random()() % 2 == 0 ? part.halves() : part.cycle(nullptr, nullptr);
        });
}

void CutCycles::split_deep(Member& member) {
    const std::size_t most = std::clamp(problem_.devices / 2, kFewest, kMost);
    split_some(member, most, [](CutCycles& part) { return part.deep_cycle(nullptr, nullptr); });
}

void CutCycles::split_some(Member& member, std::size_t most,
                           const std::function<Member(CutCycles&)>& split_part) {
    if (problem_.devices <= kFewest) return;  // that would be another start
    const Part part = part_of(finest_, problem_, member.labels, some_neighbours(member.labels, most));
    if (part.devices.size() < 2 || part.graph.nodes < 2 * part.devices.size()) return;
    CutCycles levels(part.problem, part.graph, random_(), expired_);
    const Member split = split_part(levels);
    if (!split.feasible) return;
    Member now{member.labels, kInfinite, member.feasible};
    for (std::size_t k = 0; k < part.nodes.size(); ++k)
        now.labels[part.nodes[k]] =
            static_cast<std::int32_t>(part.devices[static_cast<std::size_t>(split.labels[k])]);
    now.cost = cut_cost(finest_, problem_, now.labels);
    if (now.cost <= member.cost) member = std::move(now);
}

}  // namespace dse::partition
