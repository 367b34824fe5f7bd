#include <numeric>

#include "partition/cut_graph.hpp"
#include "partition/gain_buckets.hpp"
#include "partition/hubs.hpp"

namespace dse::partition {

namespace {

constexpr int kMostPasses = 12;
constexpr std::size_t kPatience = 250;  ///< moves of a pass without a new best
constexpr std::size_t kLocalPatience = 40;
constexpr std::size_t kMostLocal = 20'000;  ///< nodes of a level that is climbed locally
constexpr std::size_t kMostEjected = 2000;  ///< nodes of a level on which chains of moves are tried
constexpr std::size_t kLongestChain = 6;
constexpr std::size_t kFewTargets = 8;  ///< so many devices are all tried, neighbours or not

struct Target {
    std::int32_t device = -1;
    double gain = -kInfinite;
};

class Refinement {
public:
    Refinement(const CutGraph& graph, const Problem& problem, Labels& labels, bool loose, Random& random,
               const std::function<bool()>& expired)
        : graph_(graph),
          problem_(problem),
          labels_(labels),
          random_(random),
          expired_(expired),
          load_(problem.devices, 0.0),
          memory_(problem.devices, 0.0),
          size_(problem.devices, 0),
          out_(problem.devices, 0.0),
          in_(problem.devices, 0.0),
          is_touched_(problem.devices, 0),
          hubs_(graph, problem.devices),
          sharding_(problem.objective == Objective::kShardingCost),
          limit_(problem.weight_limit) {
        if (loose) limit_ += *std::max_element(graph.weight.begin(), graph.weight.end()) / 2;
        count();
        if (problem.devices > 1) {
            alike_ = problem.distance(0, 1);
            for (std::size_t a = 0; a < problem.devices; ++a)
                for (std::size_t b = 0; b < problem.devices; ++b)
                    if (a != b && problem.distance(a, b) != alike_) are_alike_ = false;
        }
    }

    bool run() {
        fill_empty();
        const bool feasible = rebalance();
        if (problem_.devices < 2) return feasible;
        GainBuckets queue(graph_.nodes);
        for (int round = 0; round < kMostPasses && !expired_(); ++round) {
            for (int pass = 0; pass < kMostPasses && climb(queue); ++pass) {
            }
            const bool local = graph_.nodes <= kMostLocal && climb_locally(queue);
            if (!local && !(feasible && has_full_devices() && eject())) break;
        }
        count();
        return rebalance();
    }

private:
    /// Anew, since sums that are added to and taken from often drift.
    void count() {
        std::fill(load_.begin(), load_.end(), 0.0);
        std::fill(memory_.begin(), memory_.end(), 0.0);
        std::fill(size_.begin(), size_.end(), std::size_t{0});
        for (std::size_t v = 0; v < graph_.nodes; ++v) {
            const std::size_t a = at(labels_[v]);
            load_[a] += graph_.weight[v];
            memory_[a] += graph_.memory[v];
            ++size_[a];
        }
        hubs_.count(labels_);
    }

    bool fits_on(std::size_t v, std::size_t b) const {
        return fits(load_[b] + graph_.weight[v], limit_ + beyond_) &&
               fits(memory_[b] + graph_.memory[v], problem_.capacity[b]);
    }

    bool is_over(std::size_t a) const {
        return !fits(load_[a], limit_) || !fits(memory_[a], problem_.capacity[a]);
    }

    /// Connections of v to each device, in `out_`, `in_` and `touched_`.
    void connect(std::size_t v) {
        for (const std::uint32_t b : touched_) {
            out_[b] = in_[b] = 0;
            is_touched_[b] = 0;
        }
        touched_.clear();
        if (const Hub* hub = hubs_.find(static_cast<std::uint32_t>(v))) {
            for (std::uint32_t b = 0; b < problem_.devices; ++b) {
                if (hub->neighbours[b] == 0) continue;
                is_touched_[b] = 1;
                touched_.push_back(b);
                out_[b] = hub->out[b];
                in_[b] = hub->in[b];
            }
            return;
        }
        for (std::uint32_t k = graph_.start[v]; k < graph_.start[v + 1]; ++k) {
            const auto b = static_cast<std::uint32_t>(labels_[graph_.neighbour[k]]);
            if (!is_touched_[b]) {
                is_touched_[b] = 1;
                touched_.push_back(b);
            }
            out_[b] += graph_.out[k];
            in_[b] += graph_.in[k];
        }
    }

    /// What moving the node that is connected from a to b saves.
    double gain(std::size_t v, std::size_t a, std::size_t b) const {
        double saved = 0;
        if (are_alike_) {
            saved = alike_ * (out_[b] + in_[b] - out_[a] - in_[a]);
        } else {
            for (const std::uint32_t c : touched_)
                saved += out_[c] * (problem_.distance(a, c) - problem_.distance(b, c)) +
                         in_[c] * (problem_.distance(c, a) - problem_.distance(c, b));
        }
        if (sharding_) saved += 2 * graph_.weight[v] * (load_[a] - load_[b] - graph_.weight[v]);
        return saved;
    }

    Target best_target(std::size_t v, bool any_device) {
        Target best;
        const auto a = static_cast<std::size_t>(labels_[v]);
        if (graph_.pinned[v] >= 0 || (sharding_ && size_[a] == 1)) return best;
        connect(v);
        const auto consider = [&](std::size_t b) {
            if (b == a || !fits_on(v, b)) return;
            const double saved = gain(v, a, b);
            if (saved > best.gain || (saved == best.gain && load_[b] < load_[at(best.device)]))
                best = {static_cast<std::int32_t>(b), saved};
        };
        if (any_device || problem_.devices <= kFewTargets) {
            for (std::size_t b = 0; b < problem_.devices; ++b) consider(b);
        } else {
            for (const std::uint32_t b : touched_) consider(b);
            if (sharding_) consider(lightest_);
        }
        return best;
    }

    void move(std::size_t v, std::size_t b) {
        const auto a = static_cast<std::size_t>(labels_[v]);
        load_[a] -= graph_.weight[v];
        load_[b] += graph_.weight[v];
        memory_[a] -= graph_.memory[v];
        memory_[b] += graph_.memory[v];
        --size_[a];
        ++size_[b];
        labels_[v] = static_cast<std::int32_t>(b);
        hubs_.moved(static_cast<std::uint32_t>(v), a, b);
    }

    bool is_boundary(std::size_t v) const {
        for (std::uint32_t k = graph_.start[v]; k < graph_.start[v + 1]; ++k)
            if (labels_[graph_.neighbour[k]] != labels_[v]) return true;
        return false;
    }

    /// Every device has a node under `sharding_cost`: the largest piece gives its lightest one.
    void fill_empty() {
        if (!sharding_) return;
        for (std::size_t b = 0; b < problem_.devices; ++b) {
            if (size_[b] > 0) continue;
            std::size_t best = graph_.nodes;
            for (std::size_t v = 0; v < graph_.nodes; ++v) {
                if (graph_.pinned[v] >= 0 || size_[at(labels_[v])] < 2 || !fits_on(v, b)) continue;
                if (best == graph_.nodes || graph_.weight[v] < graph_.weight[best]) best = v;
            }
            if (best < graph_.nodes) move(best, b);
        }
    }

    /// Moves nodes from devices that are too full to others, least loss first; whether all limits are kept.
    bool rebalance() {
        for (int round = 0; round < 8; ++round) {
            bool over = false;
            std::vector<std::pair<double, std::uint32_t>> candidates;
            for (std::uint32_t v = 0; v < graph_.nodes; ++v) {
                if (!is_over(at(labels_[v]))) continue;
                over = true;
                const Target target = best_target(v, true);
                if (target.device < 0) continue;
                const double size = std::max(graph_.weight[v], 1e-300);
                candidates.emplace_back(-target.gain / size, v);
            }
            if (!over) return true;
            std::sort(candidates.begin(), candidates.end());
            bool moved = false;
            for (const auto& [loss, v] : candidates) {
                if (!is_over(at(labels_[v]))) continue;
                const Target target = best_target(v, true);
                if (target.device < 0) continue;
                move(v, at(target.device));
                moved = true;
            }
            if (!moved) break;
        }
        for (std::size_t a = 0; a < problem_.devices; ++a)
            if (is_over(a)) return false;
        return true;
    }

    void find_lightest() {
        lightest_ = static_cast<std::size_t>(std::min_element(load_.begin(), load_.end()) - load_.begin());
    }

    bool climb(GainBuckets& queue) {
        find_lightest();
        std::vector<std::pair<std::uint32_t, double>> first;
        double largest = 0;
        for (std::uint32_t v = 0; v < graph_.nodes; ++v) {
            if (!sharding_ && !is_boundary(v)) continue;
            const Target target = best_target(v, false);
            if (target.device < 0) continue;
            first.emplace_back(v, target.gain);
            largest = std::max(largest, std::abs(target.gain));
        }
        std::shuffle(first.begin(), first.end(), random_);
        queue.reset(largest);
        for (const auto& [v, saved] : first) queue.put(static_cast<std::int32_t>(v), saved);
        locked_.assign(graph_.nodes, 0);
        return follow(queue, kPatience) > 0;
    }

    /// The same from one node of the boundary at a time, which finds what a pass over all of it walks past.
    bool climb_locally(GainBuckets& queue) {
        std::vector<std::uint32_t> boundary;
        double largest = 0;
        for (std::uint32_t v = 0; v < graph_.nodes; ++v) {
            if (!is_boundary(v)) continue;
            const Target target = best_target(v, false);
            if (target.device < 0) continue;
            boundary.push_back(v);
            largest = std::max(largest, std::abs(target.gain));
        }
        std::shuffle(boundary.begin(), boundary.end(), random_);
        queue.reset(largest);
        locked_.assign(graph_.nodes, 0);
        double saved = 0;
        for (const std::uint32_t v : boundary) {
            if (locked_[v]) continue;
            if (expired_()) break;
            const Target target = best_target(v, false);
            if (target.device < 0) continue;
            queue.put(static_cast<std::int32_t>(v), target.gain);
            saved += follow(queue, kLocalPatience);
            queue.clear();
        }
        return saved > 0;
    }

    bool has_full_devices() const { return limit_ < kInfinite && graph_.nodes <= kMostEjected; }

    /// Where devices are full, no node can move alone: one moves in and drives another out, which may drive
    /// out a third. Chains from every node of the boundary, each kept if it ends within the limits at a gain.
    bool eject() {
        std::vector<std::uint32_t> boundary;
        for (std::uint32_t v = 0; v < graph_.nodes; ++v)
            if (is_boundary(v)) boundary.push_back(v);
        std::shuffle(boundary.begin(), boundary.end(), random_);
        beyond_ = *std::max_element(graph_.weight.begin(), graph_.weight.end());
        bool saved = false;
        for (const std::uint32_t v : boundary) {
            if (expired_()) break;
            saved = eject_from(v) || saved;
        }
        beyond_ = 0;
        return saved;
    }

    bool eject_from(std::uint32_t v) {
        std::vector<std::pair<std::uint32_t, std::int32_t>> moves;  // node, device before
        double sum = 0;
        Target target = best_target(v, false);
        while (target.device >= 0 && moves.size() < kLongestChain) {
            sum += target.gain;
            moves.emplace_back(v, labels_[v]);
            const std::size_t full = at(target.device);
            move(v, full);
            if (fits(load_[full], limit_)) {
                if (sum > 1e-9 * (1 + std::abs(target.gain)) && all_fit_after(moves)) return true;
                break;
            }
            target = {};
            for (std::uint32_t u = 0; u < graph_.nodes; ++u) {
                if (at(labels_[u]) != full || was_moved(moves, u)) continue;
                const Target next = best_target(u, true);
                if (next.gain <= target.gain) continue;
                target = next;
                v = u;
            }
        }
        for (std::size_t k = moves.size(); k-- > 0;) move(moves[k].first, at(moves[k].second));
        return false;
    }

    /// A device on the way may still be too heavy: a node lighter than the one that came has left it.
    bool all_fit_after(const std::vector<std::pair<std::uint32_t, std::int32_t>>& moves) const {
        return std::all_of(moves.begin() + 1, moves.end(),
                           [&](const auto& moved) { return fits(load_[at(moved.second)], limit_); });
    }

    static bool was_moved(const std::vector<std::pair<std::uint32_t, std::int32_t>>& moves, std::uint32_t v) {
        return std::any_of(moves.begin(), moves.end(), [&](const auto& moved) { return moved.first == v; });
    }

    /// Moves the node of the highest gain, also at a loss, until `patience` moves have brought nothing; takes
    /// back what came after the best. Returns what was saved.
    double follow(GainBuckets& queue, std::size_t patience) {
        std::vector<std::pair<std::uint32_t, std::int32_t>> moves;  // node, device before
        double sum = 0, best = 0;
        std::size_t keep = 0;
        std::int32_t bucket = 0, popped = 0;
        while (moves.size() < keep + patience && (popped = queue.pop(bucket)) >= 0) {
            const std::size_t v = at(popped);
            const Target target = best_target(v, false);
            if (target.device < 0) continue;
            if (queue.bucket_of(target.gain) < bucket) {
                queue.put(popped, target.gain);
                continue;
            }
            if ((moves.size() & 15U) == 15 && expired_()) break;
            moves.emplace_back(static_cast<std::uint32_t>(v), labels_[v]);
            move(v, at(target.device));
            if (sharding_) find_lightest();
            locked_[v] = 1;
            sum += target.gain;
            if (sum > best + 1e-12 * std::abs(best)) {
                best = sum;
                keep = moves.size();
            }
            for (std::uint32_t k = graph_.start[v]; k < graph_.start[v + 1]; ++k) {
                const std::uint32_t u = graph_.neighbour[k];
                if (locked_[u]) continue;
                const Target next = best_target(u, false);
                if (next.device >= 0) queue.put(static_cast<std::int32_t>(u), next.gain);
            }
        }
        for (std::size_t k = moves.size(); k-- > keep;) move(moves[k].first, at(moves[k].second));
        return best;
    }

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    const CutGraph& graph_;
    const Problem& problem_;
    Labels& labels_;
    Random& random_;
    const std::function<bool()>& expired_;
    std::vector<double> load_, memory_;
    std::vector<std::size_t> size_;
    std::vector<double> out_, in_;
    std::vector<char> is_touched_, locked_;
    std::vector<std::uint32_t> touched_;
    Hubs hubs_;
    bool sharding_, are_alike_ = true;
    double alike_ = 0, limit_;
    double beyond_ = 0;  ///< by how much a load may pass its limit for the time being
    std::size_t lightest_ = 0;
};

}  // namespace

bool refine(const CutGraph& graph, const Problem& problem, Labels& labels, bool loose, Random& random,
            const std::function<bool()>& expired) {
    return Refinement(graph, problem, labels, loose, random, expired).run();
}

double cut_cost(const CutGraph& graph, const Problem& problem, const Labels& labels) {
    double total = 0;
    std::vector<double> load(problem.devices, 0.0);
    for (std::size_t v = 0; v < graph.nodes; ++v) {
        const auto a = static_cast<std::size_t>(labels[v]);
        load[a] += graph.weight[v];
        for (std::uint32_t k = graph.start[v]; k < graph.start[v + 1]; ++k) {
            const auto b = static_cast<std::size_t>(labels[graph.neighbour[k]]);
            if (a != b) total += graph.out[k] * problem.distance(a, b);
        }
    }
    if (problem.objective != Objective::kShardingCost) return total;
    const double mean = std::accumulate(load.begin(), load.end(), 0.0) / static_cast<double>(problem.devices);
    for (const double weight : load) total += (weight - mean) * (weight - mean);
    return total;
}

}  // namespace dse::partition
