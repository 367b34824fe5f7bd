// Moves of single nodes between devices that lower a cut, by gain, within the limits.
#include <numeric>

#include "partition/cuts/connections.hpp"
#include "partition/cuts/cut_graph.hpp"
#include "partition/cuts/gain_buckets.hpp"

namespace dse::partition {

namespace {

constexpr int kMostPasses = 12;              ///< and one more for each of so many nodes,
constexpr std::size_t kNodesPerPass = 2000;  ///< since a pass ends soon after its first moves at a loss
constexpr std::size_t kMany = 20'000;        ///< nodes of a level that is left once a round,
constexpr double kLittle = 1e-3;             ///< or a pass a tenth of it, saves no more of the cost
constexpr std::size_t kPatience = 250;       ///< moves of a pass without a new best
constexpr std::size_t kLocalPatience = 40;
constexpr std::size_t kMostEjected = 2000;  ///< nodes of a level on which chains of moves are tried
constexpr std::size_t kLongestChain = 6;
constexpr double kLooseness = 0.03;
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
          stamped_(problem.devices, 0),
          ties_(graph, problem.devices),
          sharding_(problem.objective == Objective::kShardingCost),
          limit_(weight_limit(graph, problem, loose)) {
        count();
        if (problem.devices > 1) {
            alike_ = problem.distance(0, 1);
            for (std::size_t a = 0; a < problem.devices; ++a)
                for (std::size_t b = 0; b < problem.devices; ++b)
                    if (a != b && problem.distance(a, b) != alike_) are_alike_ = false;
            if (sharding_ && loose) balance_ = relaxed();
        }
    }

    bool run() {
        fill_empty();
        const bool feasible = rebalance();
        if (problem_.devices < 2) return feasible;
        GainBuckets queue(graph_.nodes);
        const int passes = kMostPasses + static_cast<int>(graph_.nodes / kNodesPerPass);
        double left = graph_.nodes < kMany ? 0.0 : edge_cost(graph_, problem_, labels_);
        for (int round = 0; round < kMostPasses && !expired_(); ++round) {
            double saved = 0;
            for (int pass = 0; pass < passes; ++pass) {
                const double now = climb(queue);
                saved += now;
                if (now <= 0 || (graph_.nodes >= kMany && now < kLittle / 10 * left)) break;
                left -= now;
            }
            // On large levels relaxed squares are to bring a start for exact ones, no more.
            const double local = graph_.nodes >= kMany && balance_ < 1 ? 0 : climb_locally(queue);
            saved += local;
            left -= local;
            if (graph_.nodes >= kMany && saved < kLittle * left) break;
            if (local <= 0 && !(feasible && has_full_devices() && eject())) break;
        }
        count();
        return rebalance();
    }

private:
    /// From scratch, since sums that are added to and taken from often drift.
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
        ties_.count(labels_);
    }

    bool fits_on(std::size_t v, std::size_t b) const {
        return fits(load_[b] + graph_.weight[v], limit_ + beyond_) &&
               fits(memory_[b] + graph_.memory[v], problem_.capacity[b]);
    }

    bool is_over(std::size_t a) const {
        return !fits(load_[a], limit_) || !fits(memory_[a], problem_.capacity[a]);
    }

    /// Factor of the squares at which moving a node costs a few percent of what ties it: on coarse levels
    /// squares of weights are so much larger than edges that no node would move.
    double relaxed() const {
        double ties = 0, squares = 0, distances = 0;
        for (std::size_t k = 0; k < graph_.neighbour.size(); ++k) ties += graph_.out[k] + graph_.in[k];
        for (const double weight : graph_.weight) squares += weight * weight;
        for (std::size_t a = 0; a < problem_.devices; ++a)
            for (std::size_t b = 0; b < problem_.devices; ++b)
                distances += a == b ? 0.0 : problem_.distance(a, b);
        const double pairs =
            static_cast<double>(problem_.devices) * static_cast<double>(problem_.devices - 1);
        return std::min(1.0, kLooseness * ties * distances / pairs / std::max(squares, 1e-300));
    }

    /// Returns what moving v from a to b saves; `tie_a` and `tie_b` are what it exchanges with them.
    double gain(std::size_t v, std::size_t a, std::size_t b, double tie_a, double tie_b) const {
        double saved = 0;
        if (are_alike_) {
            saved = alike_ * (tie_b - tie_a);
        } else {
            for (const Connection& c : ties_.of(v))
                saved += c.out * (problem_.distance(a, c.device) - problem_.distance(b, c.device)) +
                         c.in * (problem_.distance(c.device, a) - problem_.distance(c.device, b));
        }
        if (sharding_) saved += 2 * balance_ * graph_.weight[v] * (load_[a] - load_[b] - graph_.weight[v]);
        return saved;
    }

    double tie(std::size_t v, std::size_t device) const {
        for (const Connection& c : ties_.of(v))
            if (c.device == device) return c.out + c.in;
        return 0;
    }

    Target best_target(std::size_t v, bool any_device) {
        Target best;
        const auto a = static_cast<std::size_t>(labels_[v]);
        if (graph_.pinned[v] >= 0 || (sharding_ && size_[a] == 1)) return best;
        const double tie_a = tie(v, a);
        const auto consider = [&](std::size_t b, double tie_b) {
            if (b == a || !fits_on(v, b)) return;
            const double saved = gain(v, a, b, tie_a, tie_b);
            if (saved > best.gain || (saved == best.gain && load_[b] < load_[at(best.device)]))
                best = {static_cast<std::int32_t>(b), saved};
        };
        ++stamp_;
        for (const Connection& c : ties_.of(v)) {
            stamped_[c.device] = stamp_;
            consider(c.device, c.out + c.in);
        }
        // Between devices that are alike, one without neighbours saves no more than leaving those here.
        if (are_alike_ && !sharding_ && best.gain > -alike_ * tie_a) return best;
        if (any_device || problem_.devices <= kFewTargets) {
            for (std::size_t b = 0; b < problem_.devices; ++b)
                if (stamped_[b] != stamp_) consider(b, 0);
        } else if (sharding_) {
            consider(lightest_, tie(v, lightest_));
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
        ties_.moved(v, a, b);
    }

    bool is_boundary(std::size_t v) const {
        const std::span<const Connection> ties = ties_.of(v);
        return ties.size() > 1 || (ties.size() == 1 && ties[0].device != at(labels_[v]));
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

    double climb(GainBuckets& queue) {
        find_lightest();
        std::vector<std::pair<std::uint32_t, double>> first;
        double largest = 0;
        for (std::uint32_t v = 0; v < graph_.nodes; ++v) {
            const bool inside = !is_boundary(v);
            if (inside && !sharding_) continue;
            const Target target = best_target(v, false);
            if (target.device < 0 || (inside && target.gain <= 0)) continue;
            first.emplace_back(v, target.gain);
            largest = std::max(largest, std::abs(target.gain));
        }
        std::shuffle(first.begin(), first.end(), random_);
        queue.reset(largest);
        for (const auto& [v, saved] : first) queue.put(static_cast<std::int32_t>(v), saved);
        locked_.assign(graph_.nodes, 0);
        return follow(queue, kPatience);
    }

    /// The same from one node of the boundary at a time, which finds what a pass over all of it walks past.
    double climb_locally(GainBuckets& queue) {
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
        return saved;
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
    std::vector<std::size_t> size_, stamped_;
    std::vector<char> locked_;
    Connections ties_;
    bool sharding_, are_alike_ = true;
    double balance_ = 1;  ///< factor of the squares of `sharding_cost`
    double alike_ = 0, limit_;
    double beyond_ = 0;  ///< by how much a load may pass its limit for the time being
    std::size_t lightest_ = 0, stamp_ = 0;
};

}  // namespace

bool refine(const CutGraph& graph, const Problem& problem, Labels& labels, bool loose, Random& random,
            const std::function<bool()>& expired) {
    return Refinement(graph, problem, labels, loose, random, expired).run();
}

}  // namespace dse::partition
