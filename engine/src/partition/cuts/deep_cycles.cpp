// A partition of a large graph through clusters or matchings, with flows at every level.
#include <iterator>
#include <utility>

#include "partition/cuts/cut_cycles.hpp"

namespace dse::partition {

namespace {

constexpr std::size_t kDeepNodesPerDevice[] = {100, 200};  ///< of the coarsest graph, drawn
constexpr std::size_t kCoarseStarts = 6;                   ///< at most, and
constexpr std::size_t kSizePerStart = 2;  ///< times that the finest graph is larger than the coarsest one
constexpr unsigned kMatchings = 6;        ///< one cycle of so many coarsens by matchings
constexpr double kShrinking = 4;          ///< of a graph by clusters, a level

/// Nodes and arcs: the coarsest graph of one without structure has few nodes, but about as many arcs.
std::size_t size_of(const CutGraph& graph) { return graph.nodes + graph.neighbour.size(); }

}  // namespace

Member CutCycles::deep_refined(const CutGraph& graph, Labels labels, bool loose) {
    Member member{std::move(labels), kInfinite, false};
    member.feasible = refine(graph, problem_, member.labels, loose, random_, expired_);
    if (refine_by_flows(graph, problem_, member.labels, loose, random_, expired_) > 0)
        member.feasible = refine(graph, problem_, member.labels, loose, random_, expired_);
    member.cost = cut_cost(graph, problem_, member.labels);
    return member;
}

/// The best of a few partitions of the coarsest graph: fewer where the finer levels cost little, since more
/// cycles then find more. Their kinds begin with any, so that cycles of few have all.
Member CutCycles::deep_start(const CutGraph& graph) {
    Member best;
    const std::size_t starts =
        std::clamp<std::size_t>(size_of(finest_) / (kSizePerStart * size_of(graph)), 1, kCoarseStarts);
    const std::size_t first = random_() % 3;
    for (std::size_t attempt = first; attempt < first + starts; ++attempt) {
        if (attempt > first && expired_()) break;
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
    const std::size_t per_device = kDeepNodesPerDevice[random_() % std::size(kDeepNodesPerDevice)];
    const std::size_t enough =
        std::max(kCoarseNodes, std::min(per_device * problem_.devices, finest_.nodes / 4));
    const double heaviest = 1.5 * problem_.total_weight() / static_cast<double>(enough);
    const bool by_clusters = random_() % kMatchings != 0;
    const Levels levels =
        coarsen(first, second, enough, [&](const CutGraph& graph, const auto& both, auto& map) {
            if (!by_clusters) return coarsened(graph, both, heaviest, random_, map);
            const auto fewest =
                std::max(enough, static_cast<std::size_t>(static_cast<double>(graph.nodes) / kShrinking));
            return clustered(graph, both, heaviest, fewest, random_, map);
        });
    const bool loose = !first && random_() % 2 == 0;
    Member member = levels.kept.empty()
                        ? deep_start(levels.coarsest())
                        : deep_refined(levels.coarsest(), levels.kept.front(), loose && !levels.maps.empty());
    for (std::size_t level = levels.maps.size(); level-- > 0;)
        member = deep_refined(levels.at(level), levels.finer(level, member.labels), loose && level > 0);
    exchange_devices(finest_, problem_, member.labels);
    member.cost = cut_cost(finest_, problem_, member.labels);
    return member;
}

}  // namespace dse::partition
