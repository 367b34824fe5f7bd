// Partial assignments under `sharding_cost` and `process_mapping`.
#include <cmath>
#include <cstring>
#include <numeric>

#include "partition/pieces/pieces_sweep.hpp"
#include "partition/search/search_state.hpp"

namespace dse::partition {

namespace {

/// A wider frontier leaves few states that are equal.
constexpr std::size_t kNarrow = 6;

/// Of the sweep that says what nodes to come cost at least.
constexpr std::size_t kPieceStates = 300;

struct Neighbour {
    std::uint32_t node;
    double out, in;  ///< bytes to it and from it
};

using Neighbours = std::vector<std::vector<Neighbour>>;

Neighbours neighbours_of(const Problem& problem) {
    Neighbours all(problem.nodes);
    for (const Edge& edge : problem.edges) {
        all[edge.from].push_back({edge.to, edge.bytes, 0});
        all[edge.to].push_back({edge.from, 0, edge.bytes});
    }
    for (auto& list : all) {  // parallel edges are one
        std::sort(list.begin(), list.end(),
                  [](const Neighbour& a, const Neighbour& b) { return a.node < b.node; });
        std::vector<Neighbour> merged;
        for (const Neighbour& next : list)
            if (!merged.empty() && merged.back().node == next.node) {
                merged.back().out += next.out;
                merged.back().in += next.in;
            } else {
                merged.push_back(next);
            }
        list = std::move(merged);
    }
    return all;
}

/// An order of nodes built one by one, and the most nodes that ever have both earlier and later neighbours.
class Sequence {
public:
    Sequence(const Problem& problem, const Neighbours& neighbours)
        : problem_(problem), neighbours_(neighbours) {}

    std::vector<std::uint32_t> best() {
        std::vector<std::uint32_t> narrow = build(true);
        return width_ <= kNarrow ? narrow : build(false);
    }

private:
    /// By growth of the frontier, or by edges to earlier nodes; then by weight.
    std::vector<std::uint32_t> build(bool narrow) {
        std::vector<std::uint32_t> order, later(problem_.nodes);
        std::vector<double> tied(problem_.nodes, 0.0);
        std::vector<bool> done(problem_.nodes, false);
        for (std::size_t v = 0; v < problem_.nodes; ++v)
            later[v] = static_cast<std::uint32_t>(neighbours_[v].size());
        std::ptrdiff_t frontier = 0;
        width_ = 0;
        while (order.size() < problem_.nodes) {
            std::uint32_t best = 0;
            std::ptrdiff_t best_growth = 0;
            double best_tie = -1;
            for (std::uint32_t v = 0; v < problem_.nodes; ++v) {
                if (done[v]) continue;
                std::ptrdiff_t growth = later[v] > 0 ? 1 : 0;
                for (const Neighbour& next : neighbours_[v])
                    if (done[next.node] && later[next.node] == 1) --growth;
                const double tie = tied[v] * 1e6 + problem_.weight[v];
                const bool better = narrow ? growth < best_growth || (growth == best_growth && tie > best_tie)
                                           : tie > best_tie;
                if (best_tie < 0 || better) {
                    best = v;
                    best_growth = growth;
                    best_tie = tie;
                }
            }
            done[best] = true;
            order.push_back(best);
            frontier += best_growth;
            width_ = std::max(width_, static_cast<std::size_t>(std::max<std::ptrdiff_t>(frontier, 0)));
            for (const Neighbour& next : neighbours_[best]) {
                --later[next.node];
                tied[next.node] += 1;
            }
        }
        return order;
    }

    const Problem& problem_;
    const Neighbours& neighbours_;
    std::size_t width_ = 0;
};

/// Nodes that are not placed and have neighbours that are: a list from which the last one taken is put back
/// first.
class Reached {
public:
    explicit Reached(std::size_t nodes)
        : end_(static_cast<std::uint32_t>(nodes)), next_(nodes + 1, end_), before_(nodes + 1, end_) {}

    std::uint32_t first() const { return next_[end_]; }
    std::uint32_t after(std::uint32_t v) const { return next_[v]; }
    std::uint32_t end() const { return end_; }
    void add(std::uint32_t v) {
        next_[v] = end_;
        before_[v] = before_[end_];
        put_back(v);
    }
    void remove(std::uint32_t v) {
        next_[before_[v]] = next_[v];
        before_[next_[v]] = before_[v];
    }
    void put_back(std::uint32_t v) { next_[before_[v]] = before_[next_[v]] = v; }

private:
    std::uint32_t end_;
    std::vector<std::uint32_t> next_, before_;
};

class CutState : public SearchState {
public:
    CutState(const Problem& problem, double upper, const std::function<bool()>& expired)
        : SearchState(problem),
          neighbours_(neighbours_of(problem)),
          sequence_(Sequence(problem, neighbours_).best()),
          to_placed_(problem.nodes * problem.devices, 0.0),
          later_(problem.nodes),
          earlier_(problem.nodes, 0),
          reached_(problem.nodes),
          cuts_to_come_(problem.nodes + 1, 0.0),
          mean_(problem.total_weight() / static_cast<double>(problem.devices)),
          rest_(rests(problem, sequence_)),
          sharding_(problem.objective == Objective::kShardingCost),
          ones_(problem.devices, 1.0) {
        for (std::size_t v = 0; v < problem.nodes; ++v)
            later_[v] = static_cast<std::uint32_t>(neighbours_[v].size());
        equal_ = std::all_of(problem.weight.begin(), problem.weight.end(),
                             [&](double weight) { return weight == problem.weight[0]; });
        has_capacity_ = std::any_of(problem.capacity.begin(), problem.capacity.end(),
                                    [](double bytes) { return bytes < kInfinite; });
        find_cuts_to_come(upper, expired);
    }

    const std::vector<std::uint32_t>& sequence() const override { return sequence_; }

    double bound() const override {
        const std::size_t left = problem_.nodes - placed_;
        if (sharding_) {
            const auto empty = static_cast<std::size_t>(std::count(used_.begin(), used_.end(), 0U));
            if (empty > left) return kInfinite;
        }
        double total = cut_ + cuts_to_come_[placed_];
        for (std::uint32_t v = reached_.first(); v != reached_.end(); v = reached_.after(v)) {
            const double* costs = to_placed_.data() + std::size_t{v} * problem_.devices;
            total += *std::min_element(costs, costs + problem_.devices);
        }
        return sharding_ ? total + imbalance(left) : total;
    }

    /// Labels of nodes with neighbours to come, and what is on each device.
    std::string key() const override {
        std::string key;
        for (std::size_t k = 0; k < placed_; ++k)
            if (later_[sequence_[k]] > 0) append(key, label_[sequence_[k]]);
        for (std::size_t d = 0; d < problem_.devices; ++d) {
            append(key, load_[d]);
            if (has_capacity_) append(key, memory_[d]);
            key.push_back(used_[d] ? '1' : '0');
        }
        append(key, placed_);
        return key;
    }

    double paid() const override { return cut_; }

protected:
    void placed(std::uint32_t node, std::uint32_t device) override {
        cuts_before_.push_back(cut_);
        cut_ += to_placed_[node * problem_.devices + device];
        if (earlier_[node] > 0) reached_.remove(node);
        add_to_neighbours(node, device);
    }

    void removed(std::uint32_t node, std::uint32_t /*device*/) override {
        cut_ = cuts_before_.back();
        cuts_before_.pop_back();
        for (auto next = neighbours_[node].rbegin(); next != neighbours_[node].rend(); ++next) {
            ++later_[next->node];
            --earlier_[next->node];
            if (label_[next->node] >= 0) continue;
            if (earlier_[next->node] == 0) reached_.remove(next->node);
            double* costs = to_placed_.data() + next->node * problem_.devices;
            std::copy(costs_before_.end() - static_cast<std::ptrdiff_t>(problem_.devices),
                      costs_before_.end(), costs);
            costs_before_.resize(costs_before_.size() - problem_.devices);
        }
        if (earlier_[node] > 0) reached_.put_back(node);
    }

private:
    template <typename T>
    static void append(std::string& key, T value) {
        char bytes[sizeof(T)];
        std::memcpy(bytes, &value, sizeof(T));
        key.append(bytes, sizeof(T));
    }

    /// The least cut of the nodes from each place of the sequence on, into pieces that a device may hold, at
    /// the shortest distance. Only partitions that cost less than `upper` matter.
    void find_cuts_to_come(double upper, const std::function<bool()>& expired) {
        SweepPlan plan;
        plan.limit = problem_.weight_limit;
        const auto devices = static_cast<double>(problem_.devices);
        if (sharding_ && upper < kInfinite)  // the others share what one device is off the mean
            plan.limit = (mean_ + std::sqrt(upper * (devices - 1) / devices)) * (1 + kSlack);
        if (!(plan.limit < problem_.total_weight())) return;
        double shortest = kInfinite;
        for (std::size_t a = 0; a < problem_.devices; ++a)
            for (std::size_t b = 0; b < problem_.devices; ++b)
                if (a != b) shortest = std::min(shortest, problem_.distance(a, b));
        CostedGraph graph;
        graph.weight = problem_.weight;
        graph.ends.resize(problem_.nodes);
        for (std::uint32_t v = 0; v < problem_.nodes; ++v)
            for (const Neighbour& next : neighbours_[v]) {
                const double cost = shortest * (next.out + next.in);
                if (next.node < v || !(cost > 0)) continue;
                const auto edge = static_cast<std::uint32_t>(graph.cost.size());
                graph.cost.push_back(cost);
                graph.ends[v].push_back({next.node, edge});
                graph.ends[next.node].push_back({v, edge});
            }
        graph.use.assign(graph.cost.size(), EdgeUse::kOpen);
        plan.order.assign(sequence_.rbegin(), sequence_.rend());
        plan.most_states = kPieceStates;
        const SweepResult found = sweep_pieces(graph, plan, expired);
        for (std::size_t placed = 0; placed <= problem_.nodes; ++placed) {
            const std::size_t to_come = std::min(problem_.nodes - placed, found.least.size() - 1);
            cuts_to_come_[placed] = found.least[to_come] * (1 - kSlack / 10);
        }
    }

    /// Keeps the old sums, so that removing restores the bits: a sum less what was added to it is another.
    void add_to_neighbours(std::uint32_t node, std::uint32_t device) {
        for (const Neighbour& next : neighbours_[node]) {
            --later_[next.node];
            if (earlier_[next.node]++ == 0 && label_[next.node] < 0) reached_.add(next.node);
            if (label_[next.node] >= 0) continue;
            double* costs = to_placed_.data() + next.node * problem_.devices;
            costs_before_.insert(costs_before_.end(), costs, costs + problem_.devices);
            for (std::size_t b = 0; b < problem_.devices; ++b)
                costs[b] += next.out * problem_.distance(device, b) + next.in * problem_.distance(b, device);
        }
    }

    /// The least sum of squares that the remaining weight leaves.
    double imbalance(std::size_t left) const {
        std::vector<double> load = load_;
        if (left > 0) fill(load, left);
        double squares = 0;
        for (const double total : load) squares += (total - mean_) * (total - mean_);
        return squares;
    }

    void fill(std::vector<double>& load, std::size_t left) const {
        const double level = fill_level(load, ones_, rest_[placed_]);
        const double unit = problem_.weight[0];
        if (!equal_ || unit <= 0) {
            for (double& total : load) total = std::max(total, level);
            return;
        }
        for (double& total : load) {  // nodes of one weight cannot be divided
            if (total >= level) continue;
            const double whole = std::floor((level - total) / unit * (1 - kSlack));
            const double count = std::min(whole, static_cast<double>(left));
            total += count * unit;
            left -= static_cast<std::size_t>(count);
        }
        for (; left > 0; --left) *std::min_element(load.begin(), load.end()) += unit;
    }

    Neighbours neighbours_;
    std::vector<std::uint32_t> sequence_;
    std::vector<double> to_placed_;  ///< of a node on a device, to its neighbours that are placed
    std::vector<std::uint32_t> later_, earlier_;  ///< neighbours to be placed, and those placed
    Reached reached_;
    std::vector<double> cuts_to_come_;  ///< by nodes placed: at least, between nodes to come
    std::vector<double> cuts_before_, costs_before_;
    double cut_ = 0;
    double mean_;
    std::vector<double> rest_;
    bool sharding_, equal_ = false, has_capacity_ = false;
    std::vector<double> ones_;
};

}  // namespace

std::unique_ptr<SearchState> cut_state(const Problem& problem, double upper,
                                       const std::function<bool()>& expired) {
    return std::make_unique<CutState>(problem, upper, expired);
}

}  // namespace dse::partition
