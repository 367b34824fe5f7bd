#include <numeric>

#include "partition/cuts/cut_graph.hpp"

namespace dse::partition {

namespace {

constexpr std::uint32_t kUnmatched = UINT32_MAX;

struct Arc {
    std::uint32_t from, to;
    double out, in;
};

/// Sorts into rows by counting, and merges parallel arcs.
void set_rows(CutGraph& graph, const std::vector<Arc>& arcs) {
    std::vector<std::uint32_t> first(graph.nodes + 1, 0);
    for (const Arc& arc : arcs) ++first[arc.from + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1), sorted(arcs.size());
    for (std::uint32_t i = 0; i < arcs.size(); ++i) sorted[next[arcs[i].from]++] = i;
    std::vector<std::uint32_t> place(graph.nodes, kUnmatched);
    graph.start.assign(1, 0);
    for (std::size_t v = 0; v < graph.nodes; ++v) {
        for (std::uint32_t k = first[v]; k < first[v + 1]; ++k) {
            const Arc& arc = arcs[sorted[k]];
            if (place[arc.to] == kUnmatched || place[arc.to] < graph.start[v]) {
                place[arc.to] = static_cast<std::uint32_t>(graph.neighbour.size());
                graph.neighbour.push_back(arc.to);
                graph.out.push_back(0);
                graph.in.push_back(0);
            }
            graph.out[place[arc.to]] += arc.out;
            graph.in[place[arc.to]] += arc.in;
        }
        graph.start.push_back(static_cast<std::uint32_t>(graph.neighbour.size()));
    }
}

class Matching {
public:
    Matching(const CutGraph& graph, const std::vector<const Labels*>& kept, double heaviest)
        : graph_(graph), kept_(kept), heaviest_(heaviest), mate_(graph.nodes, kUnmatched) {}

    std::vector<std::uint32_t> run(Random& random) {
        std::vector<std::uint32_t> order(graph_.nodes), waiting(graph_.nodes, kUnmatched);
        std::iota(order.begin(), order.end(), 0U);
        std::shuffle(order.begin(), order.end(), random);
        const double small = 1e-3 * std::accumulate(graph_.weight.begin(), graph_.weight.end(), 1e-300) /
                             static_cast<double>(graph_.nodes);
        for (const std::uint32_t v : order) {
            if (mate_[v] != kUnmatched) continue;
            double best = -1;
            std::uint32_t mate = kUnmatched, hub = kUnmatched;
            for (std::uint32_t k = graph_.start[v]; k < graph_.start[v + 1]; ++k) {
                const std::uint32_t u = graph_.neighbour[k];
                const double edge = graph_.out[k] + graph_.in[k];
                const double rating = edge * edge / ((graph_.weight[u] + small) * (graph_.weight[v] + small));
                if (hub == kUnmatched) hub = u;
                if (rating > best && mate_[u] == kUnmatched && may_join(u, v)) {
                    best = rating;
                    mate = u;
                }
            }
            // Leaves of one hub that is taken join each other: stars would stay as they are.
            if (mate == kUnmatched && hub != kUnmatched) {
                const std::uint32_t other = waiting[hub];
                if (other != kUnmatched && mate_[other] == kUnmatched && may_join(other, v))
                    mate = other;
                else
                    waiting[hub] = v;
            }
            if (mate == kUnmatched) continue;
            mate_[v] = mate;
            mate_[mate] = v;
        }
        return std::move(mate_);
    }

private:
    bool may_join(std::uint32_t u, std::uint32_t v) const {
        if (graph_.weight[u] + graph_.weight[v] > heaviest_ || graph_.pinned[u] != graph_.pinned[v])
            return false;
        return std::all_of(kept_.begin(), kept_.end(),
                           [&](const Labels* labels) { return (*labels)[u] == (*labels)[v]; });
    }

    const CutGraph& graph_;
    const std::vector<const Labels*>& kept_;
    double heaviest_;
    std::vector<std::uint32_t> mate_;
};

/// Label propagation with a limit of size (Meyerhenke, Sanders and Schulz 2014).
class Clustering {
public:
    Clustering(const CutGraph& graph, const std::vector<const Labels*>& kept, double heaviest,
               std::size_t fewest)
        : graph_(graph),
          kept_(kept),
          heaviest_(heaviest),
          fewest_(fewest),
          cluster_(graph.nodes),
          size_(graph.nodes, 1),
          weight_(graph.weight),
          tie_(graph.nodes, 0.0),
          is_active_(graph.nodes, 1) {
        std::iota(cluster_.begin(), cluster_.end(), 0U);
    }

    std::vector<std::uint32_t> run(Random& random) {
        std::vector<std::uint32_t> order(graph_.nodes);
        std::iota(order.begin(), order.end(), 0U);
        std::shuffle(order.begin(), order.end(), random);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return degree(a) < degree(b); });
        clusters_ = graph_.nodes;
        for (int round = 0; round < kRounds; ++round) {
            std::size_t moved = 0;
            for (const std::uint32_t v : order) {
                if (!is_active_[v]) continue;
                is_active_[v] = 0;
                moved += move(v, random) ? 1 : 0;
            }
            if (moved * 200 < graph_.nodes) break;
        }
        return std::move(cluster_);
    }

private:
    static constexpr int kRounds = 12;

    std::uint32_t degree(std::uint32_t v) const { return graph_.start[v + 1] - graph_.start[v]; }

    bool may_join(std::uint32_t v, std::uint32_t cluster) const {
        if (weight_[cluster] + graph_.weight[v] > heaviest_ || graph_.pinned[cluster] != graph_.pinned[v])
            return false;
        return std::all_of(kept_.begin(), kept_.end(),
                           [&](const Labels* labels) { return (*labels)[cluster] == (*labels)[v]; });
    }

    bool move(std::uint32_t v, Random& random) {
        const std::uint32_t own = cluster_[v];
        if (size_[own] == 1 && clusters_ <= fewest_) return false;
        touched_.clear();
        for (std::uint32_t k = graph_.start[v]; k < graph_.start[v + 1]; ++k) {
            const std::uint32_t cluster = cluster_[graph_.neighbour[k]];
            if (tie_[cluster] == 0) touched_.push_back(cluster);
            tie_[cluster] += graph_.out[k] + graph_.in[k];
        }
        std::uint32_t best = own;
        double most = tie_[own];
        int equal = 1;
        for (const std::uint32_t cluster : touched_) {
            const double tie = tie_[cluster];
            if (cluster == own || tie < most || !may_join(v, cluster)) continue;
            equal = tie > most ? 1 : equal + 1;
            if (tie > most || random() % static_cast<unsigned>(equal) == 0) best = cluster;
            most = tie;
        }
        for (const std::uint32_t cluster : touched_) tie_[cluster] = 0;
        if (best == own) return false;
        weight_[own] -= graph_.weight[v];
        weight_[best] += graph_.weight[v];
        if (--size_[own] == 0) --clusters_;
        ++size_[best];
        cluster_[v] = best;
        for (std::uint32_t k = graph_.start[v]; k < graph_.start[v + 1]; ++k)
            is_active_[graph_.neighbour[k]] = 1;
        return true;
    }

    const CutGraph& graph_;
    const std::vector<const Labels*>& kept_;
    double heaviest_;
    std::size_t fewest_, clusters_ = 0;
    std::vector<std::uint32_t> cluster_, size_, touched_;
    std::vector<double> weight_, tie_;
    std::vector<char> is_active_;  ///< whose neighbours have moved since it was looked at
};

}  // namespace

CutGraph cut_graph(const Problem& problem) {
    CutGraph graph;
    graph.nodes = problem.nodes;
    graph.weight = problem.weight;
    graph.memory = problem.memory;
    graph.pinned = problem.pinned;
    std::vector<Arc> arcs;
    arcs.reserve(2 * problem.edges.size());
    for (const Edge& edge : problem.edges) {
        arcs.push_back({edge.from, edge.to, edge.bytes, 0});
        arcs.push_back({edge.to, edge.from, 0, edge.bytes});
    }
    set_rows(graph, arcs);
    return graph;
}

CutGraph contracted(const CutGraph& graph, const std::vector<std::uint32_t>& coarse_of, std::size_t nodes) {
    CutGraph coarse;
    coarse.nodes = nodes;
    coarse.weight.assign(nodes, 0.0);
    coarse.memory.assign(nodes, 0.0);
    coarse.pinned.assign(nodes, -1);
    std::vector<Arc> arcs;
    arcs.reserve(graph.neighbour.size());
    for (std::size_t v = 0; v < graph.nodes; ++v) {
        const std::uint32_t set = coarse_of[v];
        coarse.weight[set] += graph.weight[v];
        coarse.memory[set] += graph.memory[v];
        if (graph.pinned[v] >= 0) coarse.pinned[set] = graph.pinned[v];
        for (std::uint32_t k = graph.start[v]; k < graph.start[v + 1]; ++k)
            if (set != coarse_of[graph.neighbour[k]])
                arcs.push_back({set, coarse_of[graph.neighbour[k]], graph.out[k], graph.in[k]});
    }
    set_rows(coarse, arcs);
    return coarse;
}

CutGraph coarsened(const CutGraph& graph, const std::vector<const Labels*>& kept, double heaviest,
                   Random& random, std::vector<std::uint32_t>& coarse_of) {
    const std::vector<std::uint32_t> mate = Matching(graph, kept, heaviest).run(random);
    coarse_of.assign(graph.nodes, kUnmatched);
    std::uint32_t nodes = 0;
    for (std::uint32_t v = 0; v < graph.nodes; ++v) {
        if (coarse_of[v] != kUnmatched) continue;
        coarse_of[v] = nodes++;
        if (mate[v] != kUnmatched) coarse_of[mate[v]] = coarse_of[v];
    }
    return contracted(graph, coarse_of, nodes);
}

CutGraph clustered(const CutGraph& graph, const std::vector<const Labels*>& kept, double heaviest,
                   std::size_t fewest, Random& random, std::vector<std::uint32_t>& coarse_of) {
    const std::vector<std::uint32_t> cluster = Clustering(graph, kept, heaviest, fewest).run(random);
    std::vector<std::uint32_t> number(graph.nodes, kUnmatched);
    coarse_of.resize(graph.nodes);
    std::uint32_t nodes = 0;
    for (std::uint32_t v = 0; v < graph.nodes; ++v) {
        if (number[cluster[v]] == kUnmatched) number[cluster[v]] = nodes++;
        coarse_of[v] = number[cluster[v]];
    }
    return contracted(graph, coarse_of, nodes);
}

}  // namespace dse::partition
