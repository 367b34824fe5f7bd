// Single partitions of a graph under the cut objectives: from nothing, from others, and of parts of one.
#pragma once

#include "partition/cuts/cut_graph.hpp"

namespace dse::partition {

struct Member {
    Labels labels;
    double cost = kInfinite;
    bool feasible = false;

    bool better_than(const Member& other) const {
        return feasible != other.feasible ? feasible : cost < other.cost;
    }
};

constexpr std::size_t kCoarseNodes = 120;  ///< of the coarsest graph, at least
constexpr std::size_t kMostLevels = 40;
constexpr double kLeastShrinking = 0.97;  ///< of the nodes of a level; with more left, coarsening ends
constexpr std::size_t kLarge = 20'000;    ///< nodes from which a start or a cycle has to be cheap

/// Exchanges the devices of whole pieces as long as that is cheaper (process mapping).
void exchange_devices(const CutGraph& graph, const Problem& problem, Labels& labels);

/// Labels of the `nodes` that `map` makes of the labelled ones.
Labels at_coarse(const Labels& labels, const std::vector<std::uint32_t>& map, std::size_t nodes);

/// Ever coarser graphs of one, and what coarsening keeps of partitions that are known.
struct Levels {
    const CutGraph* finest;
    std::vector<CutGraph> graphs;
    std::vector<std::vector<std::uint32_t>> maps;
    std::vector<Labels> kept;

    const CutGraph& at(std::size_t level) const { return level > 0 ? graphs[level - 1] : *finest; }
    const CutGraph& coarsest() const { return at(graphs.size()); }

    /// Labels of a level from those of the next coarser one.
    Labels finer(std::size_t level, const Labels& coarse) const {
        Labels fine(maps[level].size());
        for (std::size_t v = 0; v < fine.size(); ++v) fine[v] = coarse[maps[level][v]];
        return fine;
    }
};

class CutCycles {
public:
    CutCycles(const Problem& problem, CutGraph graph, std::uint64_t seed,
              const std::function<bool()>& expired);

    /// From nothing, or from the better one of two partitions: coarsening then keeps both, so that what they
    /// agree on stays and refinement decides the rest.
    Member cycle(const Member* first, const Member* second);

    /// The same through clusters or matchings, by chance, and with flows at every level.
    Member deep_cycle(const Member* first, const Member* second);

    /// From the graph in two, each half in two and so on, every time coarsened again.
    Member halves();

    /// From contiguous pieces of a row: long graphs, as those of models are. No labels if there are none.
    Member row(int kind);

    /// From segments of a row, dealt out as wholes: a few narrow places may divide a graph better than any
    /// contiguous pieces do. No labels if they are hopeless against a cost of `most`.
    Member segments(int kind, double most);

    Member improve(Labels labels);

    /// Splits the nodes of a few devices next to each other again, so often, and keeps what is not worse:
    /// a few parts are so small that a start from nothing often finds better ones.
    void split_anew(Member& member, int times);

    /// The same once, by a deep cycle.
    void split_deep(Member& member);

    Random& random() { return random_; }

private:
    /// Coarsens down to `enough` nodes; `contract` makes a coarser graph, its map, and keeps given labels.
    template <typename Contract>
    Levels coarsen(const Member* first, const Member* second, std::size_t enough, Contract contract) const {
        Levels levels{&finest_, {}, {}, {}};
        for (const Member* member : {first, second})
            if (member) levels.kept.push_back(member->labels);
        levels.graphs.reserve(kMostLevels);
        while (levels.graphs.size() < kMostLevels && levels.coarsest().nodes > enough) {
            const CutGraph& graph = levels.coarsest();
            std::vector<const Labels*> both;
            for (const Labels& labels : levels.kept) both.push_back(&labels);
            std::vector<std::uint32_t> map;
            CutGraph coarse = contract(graph, both, map);
            if (static_cast<double>(coarse.nodes) > kLeastShrinking * static_cast<double>(graph.nodes)) break;
            for (Labels& labels : levels.kept) labels = at_coarse(labels, map, coarse.nodes);
            levels.graphs.push_back(std::move(coarse));
            levels.maps.push_back(std::move(map));
        }
        return levels;
    }

    void split_some(Member& member, std::size_t most, const std::function<Member(CutCycles&)>& split);
    Member deep_start(const CutGraph& graph);
    Member deep_refined(const CutGraph& graph, Labels labels, bool loose);
    bool is_hopeless(const Labels& labels, double most) const;
    std::vector<std::uint32_t> some_neighbours(const Labels& labels, std::size_t most);

    const Problem& problem_;
    const std::function<bool()>& expired_;
    CutGraph finest_;
    std::vector<std::uint32_t> devices_;
    Random random_;
    double heaviest_;
};

}  // namespace dse::partition
