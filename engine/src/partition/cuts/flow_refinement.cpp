// Refinement by flows: the boundary of two devices at a time becomes a least cut between them.
#include <cmath>
#include <numeric>

#include "partition/cuts/corridor_flow.hpp"
#include "partition/cuts/cut_graph.hpp"

namespace dse::partition {

namespace {

constexpr double kWidth = 16;    ///< of a corridor, times the imbalance that is allowed
constexpr int kMostRounds = 10;  ///< over all pairs of devices
constexpr std::uint32_t kOutside = UINT32_MAX;

class FlowRefinement {
public:
    FlowRefinement(const CutGraph& graph, const Problem& problem, Labels& labels, bool loose, Random& random,
                   const std::function<bool()>& expired)
        : graph_(graph),
          problem_(problem),
          labels_(labels),
          random_(random),
          expired_(expired),
          index_(graph.nodes, kOutside),
          load_(problem.devices, 0.0),
          memory_(problem.devices, 0.0),
          limit_(weight_limit(graph, problem, loose)) {
        for (std::size_t v = 0; v < graph.nodes; ++v) {
            load_[device(v)] += graph.weight[v];
            memory_[device(v)] += graph.memory[v];
        }
    }

    double run() {
        std::vector<char> active(problem_.devices, 1);
        double saved = 0;
        for (int round = 0; round < kMostRounds && !expired_(); ++round) {
            std::vector<char> changed(problem_.devices, 0);
            double now = 0;
            for (Pair& pair : pairs(active)) {
                if (expired_()) break;
                const double gain = improve(pair);
                if (gain <= 0) continue;
                now += gain;
                changed[pair.a] = changed[pair.b] = 1;
            }
            saved += now;
            if (now <= 0) break;
            active = std::move(changed);
        }
        return saved;
    }

private:
    struct Pair {
        std::size_t a, b;
        std::vector<std::uint32_t> boundary;
    };

    std::size_t device(std::size_t v) const { return static_cast<std::size_t>(labels_[v]); }

    /// Pairs of devices with edges between them, one of which is active, in a random order.
    std::vector<Pair> pairs(const std::vector<char>& active) {
        std::vector<std::pair<std::size_t, std::uint32_t>> ends;  // pair, node
        for (std::uint32_t v = 0; v < graph_.nodes; ++v) {
            const std::size_t a = device(v), before = ends.size();
            for (std::uint32_t k = graph_.start[v]; k < graph_.start[v + 1]; ++k) {
                const std::size_t b = device(graph_.neighbour[k]);
                if (a == b || !(active[a] || active[b])) continue;
                const std::size_t key = std::min(a, b) * problem_.devices + std::max(a, b);
                bool known = false;
                for (std::size_t e = before; e < ends.size() && !known; ++e) known = ends[e].first == key;
                if (!known) ends.emplace_back(key, v);
            }
        }
        std::stable_sort(ends.begin(), ends.end(),
                         [](const auto& x, const auto& y) { return x.first < y.first; });
        std::vector<Pair> all;
        for (std::size_t k = 0; k < ends.size(); ++k) {
            if (k == 0 || ends[k].first != ends[k - 1].first)
                all.push_back({ends[k].first / problem_.devices, ends[k].first % problem_.devices, {}});
            all.back().boundary.push_back(ends[k].second);
        }
        std::shuffle(all.begin(), all.end(), random_);
        return all;
    }

    /// Nodes of one side, nearest to the boundary first, up to a weight.
    void widen(const Pair& pair, std::size_t side, double most) {
        const std::int32_t sign = side == pair.a ? 1 : -1;
        const std::size_t first = region_.size();
        double weight = 0;
        const auto add = [&](std::uint32_t v, std::int32_t depth) {
            if (device(v) != side || index_[v] != kOutside || graph_.pinned[v] >= 0) return;
            if (weight + graph_.weight[v] > most) return;
            weight += graph_.weight[v];
            index_[v] = static_cast<std::uint32_t>(region_.size());
            region_.push_back(v);
            depth_.push_back(sign * depth);
        };
        for (const std::uint32_t v : pair.boundary) add(v, 1);
        for (std::size_t k = first; k < region_.size(); ++k) {
            const std::uint32_t v = region_[k];
            for (std::uint32_t e = graph_.start[v]; e < graph_.start[v + 1]; ++e)
                add(graph_.neighbour[e], std::abs(depth_[k]) + 1);
        }
        inside_[side == pair.a ? 0 : 1] = weight;
    }

    /// Sets up the corridor; returns what its present cut costs.
    double set_up(const Pair& pair, double limit) {
        const std::size_t a = pair.a, b = pair.b;
        flow_.reset(region_.size(), load_[a] - inside_[0], load_[b] - inside_[1], limit);
        double now = 0;
        for (std::uint32_t i = 0; i < region_.size(); ++i) {
            const std::uint32_t v = region_[i];
            double on_a = 0, on_b = 0;  // costs
            for (std::uint32_t k = graph_.start[v]; k < graph_.start[v + 1]; ++k) {
                const std::uint32_t u = graph_.neighbour[k];
                const double out = graph_.out[k], in = graph_.in[k];
                const double forward = out * problem_.distance(a, b) + in * problem_.distance(b, a);
                const double backward = out * problem_.distance(b, a) + in * problem_.distance(a, b);
                const std::uint32_t j = index_[u];
                if (j == kOutside) {
                    const std::size_t c = device(u);
                    on_a += out * problem_.distance(a, c) + in * problem_.distance(c, a);
                    on_b += out * problem_.distance(b, c) + in * problem_.distance(c, b);
                } else if (i < j) {
                    flow_.add_edge(i, j, forward, backward);
                    if (device(v) != device(u)) now += device(v) == a ? forward : backward;
                }
            }
            const double shared = std::min(on_a, on_b);
            flow_.set_node(i, graph_.weight[v], on_b - shared, on_a - shared, depth_[i]);
            now += (device(v) == a ? on_a : on_b) - shared;
        }
        return now;
    }

    /// Returns what a better cut between two devices saves; 0 if there is none.
    double improve(const Pair& pair) {
        const std::size_t a = pair.a, b = pair.b;
        const double mean =
            std::accumulate(load_.begin(), load_.end(), 0.0) / static_cast<double>(load_.size());
        const double slack = std::max(0.0, limit_ / mean - 1);
        const double widest = (1 + kWidth * slack) * mean;
        const double limit = std::max({limit_, load_[a], load_[b]});
        region_.clear();
        depth_.clear();
        widen(pair, a, std::min(widest - load_[b], load_[a] * 0.9));
        widen(pair, b, std::min(widest - load_[a], load_[b] * 0.9));
        double saved = 0;
        if (!region_.empty()) {
            const double now = set_up(pair, limit);
            const CorridorFlow::Sides sides = flow_.least_cut(now);
            if (!sides.is_sink.empty()) saved = accept(pair, sides, now);
        }
        for (const std::uint32_t v : region_) index_[v] = kOutside;
        return saved;
    }

    double accept(const Pair& pair, const CorridorFlow::Sides& sides, double now) {
        const std::size_t a = pair.a, b = pair.b;
        double load = 0, memory = 0;  // that b has more
        for (std::size_t i = 0; i < region_.size(); ++i) {
            const std::uint32_t v = region_[i];
            const bool on_b = device(v) == b;
            if (on_b == (sides.is_sink[i] != 0)) continue;
            load += on_b ? -graph_.weight[v] : graph_.weight[v];
            memory += on_b ? -graph_.memory[v] : graph_.memory[v];
        }
        const double saved = now - sides.cut;
        const double before = std::max(load_[a], load_[b]);
        const double after = std::max(load_[a] - load, load_[b] + load);
        const bool better = saved > 1e-9 * now;
        if (!better && !(saved >= -1e-9 * now && after < before)) return 0;
        if (!fits(memory_[b] + memory, problem_.capacity[b]) && memory > 0) return 0;
        if (!fits(memory_[a] - memory, problem_.capacity[a]) && memory < 0) return 0;
        for (std::size_t i = 0; i < region_.size(); ++i)
            labels_[region_[i]] = static_cast<std::int32_t>(sides.is_sink[i] ? b : a);
        load_[a] -= load;
        load_[b] += load;
        memory_[a] -= memory;
        memory_[b] += memory;
        return better ? saved : 0;
    }

    const CutGraph& graph_;
    const Problem& problem_;
    Labels& labels_;
    Random& random_;
    const std::function<bool()>& expired_;
    std::vector<std::uint32_t> index_, region_;
    std::vector<std::int32_t> depth_;
    std::vector<double> load_, memory_;
    CorridorFlow flow_;
    double inside_[2] = {0, 0};
    double limit_;
};

}  // namespace

double refine_by_flows(const CutGraph& graph, const Problem& problem, Labels& labels, bool loose,
                       Random& random, const std::function<bool()>& expired) {
    if (problem.devices < 2) return 0;
    return FlowRefinement(graph, problem, labels, loose, random, expired).run();
}

}  // namespace dse::partition
