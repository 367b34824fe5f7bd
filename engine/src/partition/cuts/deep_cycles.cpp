// A partition of a large graph through clusters or matchings, with flows at every level.
#include <iterator>
#include <utility>

#include "partition/cuts/cut_cycles.hpp"

namespace dse::partition {

namespace {

constexpr std::size_t kDeepNodesPerDevice[] = {100, 200};  ///< of the coarsest graph, drawn
constexpr int kCoarseStarts = 6;
constexpr double kShrinking = 2.5;  ///< of a graph by clusters, a level

}  // namespace

Member CutCycles::deep_refined(const CutGraph& graph, Labels labels, bool loose) {
    Member member{std::move(labels), kInfinite, false};
    member.feasible = refine(graph, problem_, member.labels, loose, random_, expired_);
    if (refine_by_flows(graph, problem_, member.labels, loose, random_, expired_) > 0)
        member.feasible = refine(graph, problem_, member.labels, loose, random_, expired_);
    member.cost = cut_cost(graph, problem_, member.labels);
    return member;
}

/// The best of a few partitions of the coarsest graph.
Member CutCycles::deep_start(const CutGraph& graph) {
    Member best;
    for (int attempt = 0; attempt < kCoarseStarts && (attempt == 0 || !expired_()); ++attempt) {
        Labels labels = attempt % 3 == 2
                            ? bisected(graph, problem_, devices_, random_)
                            : halved(graph, problem_, devices_, random_, expired_, attempt % 3 == 1);
        exchange_devices(graph, problem_, labels);
        Member member = deep_refined(graph, std::move(labels), &graph != &finest_);
        if (best.labels.empty() || member.better_than(best)) best = std::move(member);
    }
    return best;
}

Member CutCycles::deep_cycle(const Member* first, const Member* second) {
    std::vector<CutGraph> graphs;
    std::vector<std::vector<std::uint32_t>> maps;
    std::vector<Labels> kept;
    if (first) kept.push_back(first->labels);
    if (second) kept.push_back(second->labels);
    const std::size_t per_device = kDeepNodesPerDevice[random_() % std::size(kDeepNodesPerDevice)];
    const std::size_t enough =
        std::max(kCoarseNodes, std::min(per_device * problem_.devices, finest_.nodes / 4));
    const double heaviest = 1.5 * problem_.total_weight() / static_cast<double>(enough);
    const bool by_clusters = random_() % 3 != 0;
    const CutGraph* graph = &finest_;
    graphs.reserve(kMostLevels);
    while (graphs.size() < kMostLevels && graph->nodes > enough) {
        std::vector<const Labels*> both;
        for (const Labels& labels : kept) both.push_back(&labels);
        std::vector<std::uint32_t> map;
        const auto fewest =
            std::max(enough, static_cast<std::size_t>(static_cast<double>(graph->nodes) / kShrinking));
        CutGraph coarse = by_clusters ? clustered(*graph, both, heaviest, fewest, random_, map)
                                      : coarsened(*graph, both, heaviest, random_, map);
        if (static_cast<double>(coarse.nodes) > 0.97 * static_cast<double>(graph->nodes)) break;
        for (Labels& labels : kept) labels = at_coarse(labels, map, coarse.nodes);
        graphs.push_back(std::move(coarse));
        maps.push_back(std::move(map));
        graph = &graphs.back();
    }
    const bool loose = !first && random_() % 2 == 0;
    Member member =
        kept.empty() ? deep_start(*graph) : deep_refined(*graph, kept.front(), loose && !maps.empty());
    for (std::size_t level = maps.size(); level-- > 0;) {
        Labels fine(maps[level].size());
        for (std::size_t v = 0; v < fine.size(); ++v) fine[v] = member.labels[maps[level][v]];
        const CutGraph& finer = level > 0 ? graphs[level - 1] : finest_;
        member = deep_refined(finer, std::move(fine), loose && level > 0);
    }
    exchange_devices(finest_, problem_, member.labels);
    member.cost = cut_cost(finest_, problem_, member.labels);
    return member;
}

}  // namespace dse::partition
