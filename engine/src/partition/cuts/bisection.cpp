// Partitions by bisection: halves of halves, on one level or each through levels of coarsening of its own.
#include "partition/cuts/bisection.hpp"

namespace dse::partition {

namespace {

constexpr int kDeepTries = 2;          ///< halves from nothing, of which the best is kept
constexpr int kDeepCycles = 2;         ///< times that they are coarsened again
constexpr std::size_t kFewNodes = 60;  ///< that are split without coarsening

/// Every split through levels of coarsening of its own: near the whole graph halves find the shapes that
/// a graph coarse enough for all devices no longer has.
class Halving {
public:
    Halving(const Problem& problem, const std::vector<std::uint32_t>& devices, Random& random,
            const std::function<bool()>& expired, bool clusters)
        : problem_(problem), devices_(devices), random_(random), expired_(expired), clusters_(clusters) {}

    Labels run(const CutGraph& graph) {
        labels_.assign(graph.nodes, 0);
        std::vector<std::uint32_t> all(graph.nodes);
        std::iota(all.begin(), all.end(), 0U);
        split(graph, all, 0, devices_.size());
        return std::move(labels_);
    }

private:
    using Sides = Bisection::Sides;

    /// `nodes` are those of the graph in the first one.
    void split(const CutGraph& graph, const std::vector<std::uint32_t>& nodes, std::size_t begin,
               std::size_t end) {
        if (end - begin == 1 || nodes.empty()) {
            for (const std::uint32_t v : nodes) labels_[v] = static_cast<std::int32_t>(devices_[begin]);
            return;
        }
        const std::size_t middle = begin + (end - begin) / 2;
        Sides best;
        double best_score = kInfinite;
        for (int attempt = 0; attempt < kDeepTries && (attempt == 0 || !expired_()); ++attempt) {
            Sides sides;
            double score = cycle(graph, sides, begin, middle, end);
            for (int again = 0; again < kDeepCycles && !expired_(); ++again)
                score = cycle(graph, sides, begin, middle, end);
            if (score >= best_score && !best.empty()) continue;
            best_score = score;
            best = std::move(sides);
        }
        for (const char side : {char{0}, char{1}}) {
            std::vector<std::uint32_t> half;
            for (std::uint32_t v = 0; v < graph.nodes; ++v)
                if (best[v] == side) half.push_back(v);
            const CutGraph inner = induced(graph, half);
            for (std::uint32_t& v : half) v = nodes[v];
            split(inner, half, side ? middle : begin, side ? end : middle);
        }
    }

    /// Halves from nothing where there are none, else better ones; returns their score.
    double cycle(const CutGraph& graph, Sides& sides, std::size_t begin, std::size_t middle,
                 std::size_t end) const {
        const bool has_sides = !sides.empty();
        if (graph.nodes > kFewNodes) {
            Labels kept(sides.begin(), sides.end());
            std::vector<const Labels*> keep;
            if (has_sides) keep.push_back(&kept);
            const double total = std::accumulate(graph.weight.begin(), graph.weight.end(), 0.0);
            std::vector<std::uint32_t> map;
            const double heaviest = 3 * total / static_cast<double>(kFewNodes);
            const std::size_t fewest = std::max(kFewNodes, graph.nodes * 2 / 5);
            const CutGraph coarse = clusters_ ? clustered(graph, keep, heaviest, fewest, random_, map)
                                              : coarsened(graph, keep, heaviest, random_, map);
            if (static_cast<double>(coarse.nodes) <= 0.97 * static_cast<double>(graph.nodes)) {
                Sides above(has_sides ? coarse.nodes : 0);
                if (has_sides)
                    for (std::size_t v = 0; v < graph.nodes; ++v) above[map[v]] = sides[v];
                cycle(coarse, above, begin, middle, end);
                sides.resize(graph.nodes);
                for (std::size_t v = 0; v < graph.nodes; ++v) sides[v] = above[map[v]];
            }
        }
        Bisection bisection(graph, problem_, devices_, random_);
        if (sides.empty()) sides = bisection.halves(begin, middle, end);
        return bisection.improve(sides, begin, middle, end);
    }

    static CutGraph induced(const CutGraph& graph, const std::vector<std::uint32_t>& nodes) {
        CutGraph inner;
        inner.nodes = nodes.size();
        inner.start.assign(1, 0);
        std::vector<std::uint32_t> index(graph.nodes, UINT32_MAX);
        for (std::uint32_t k = 0; k < nodes.size(); ++k) index[nodes[k]] = k;
        for (const std::uint32_t v : nodes) {
            inner.weight.push_back(graph.weight[v]);
            inner.memory.push_back(graph.memory[v]);
            inner.pinned.push_back(graph.pinned[v]);
            for (std::uint32_t k = graph.start[v]; k < graph.start[v + 1]; ++k) {
                if (index[graph.neighbour[k]] == UINT32_MAX) continue;
                inner.neighbour.push_back(index[graph.neighbour[k]]);
                inner.out.push_back(graph.out[k]);
                inner.in.push_back(graph.in[k]);
            }
            inner.start.push_back(static_cast<std::uint32_t>(inner.neighbour.size()));
        }
        return inner;
    }

    const Problem& problem_;
    const std::vector<std::uint32_t>& devices_;
    Random& random_;
    const std::function<bool()>& expired_;
    bool clusters_;
    Labels labels_;
};

}  // namespace

Labels halved(const CutGraph& graph, const Problem& problem, const std::vector<std::uint32_t>& devices,
              Random& random, const std::function<bool()>& expired, bool by_clusters) {
    return Halving(problem, devices, random, expired, by_clusters).run(graph);
}

Labels bisected(const CutGraph& graph, const Problem& problem, const std::vector<std::uint32_t>& devices,
                Random& random) {
    return Bisection(graph, problem, devices, random).run();
}

}  // namespace dse::partition
