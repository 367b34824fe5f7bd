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
constexpr std::size_t kLarge = 20'000;  ///< nodes from which a start or a cycle has to be cheap

/// Exchanges the devices of whole pieces as long as that is cheaper (process mapping).
void exchange_devices(const CutGraph& graph, const Problem& problem, Labels& labels);

/// Labels of the `nodes` that `map` makes of the labelled ones.
Labels at_coarse(const Labels& labels, const std::vector<std::uint32_t>& map, std::size_t nodes);

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

    Random& random() { return random_; }

private:
    void split_anew(Member& member);
    Member deep_start(const CutGraph& graph);
    Member deep_refined(const CutGraph& graph, Labels labels, bool loose);
    bool is_hopeless(const Labels& labels, double most) const;
    std::vector<std::uint32_t> some_neighbours(const Labels& labels);

    const Problem& problem_;
    const std::function<bool()>& expired_;
    CutGraph finest_;
    std::vector<std::uint32_t> devices_;
    Random random_;
    double heaviest_;
};

}  // namespace dse::partition
