#include "partition/pieces/pieces_sweep.hpp"

#include <numeric>

#include "partition/pieces/open_edges.hpp"

namespace dse::partition {

namespace {

/// Placed neighbours of a node of which all sets are tried.
constexpr std::size_t kMostNear = 10;

/// States that are made before some are dropped: memory is for so many.
constexpr std::size_t kMostGrown = 1U << 16;

class Sweep {
public:
    Sweep(CostedGraph& graph, const SweepPlan& plan, const std::function<bool()>& expired)
        : graph_(graph),
          plan_(plan),
          expired_(expired),
          limit_(plan.limit * (1 + kSlack)),
          rank_(plan.order.size()),
          is_placed_(plan.order.size(), false),
          open_(graph, rank_) {
        for (EdgeUse& use : graph.use)
            if (use == EdgeUse::kSkipped) use = EdgeUse::kOpen;
        for (std::uint32_t k = 0; k < rank_.size(); ++k) rank_[plan.order[k]] = k;
        open_.begin();
    }

    SweepResult run() {
        SweepResult result;
        result.least = {0.0};
        for (const std::uint32_t v : plan_.order) {
            if (!expired_()) place(v);
            if (expired_()) {  // what was placed before costs that much
                result.bound = result.least.back();
                return result;
            }
            if (states_.empty()) {  // nothing is below the upper bound
                result.bound = plan_.upper;
                return result;
            }
            double least = kInfinite;
            for (const PieceState& state : states_) least = std::min(least, state.cost);
            result.least.push_back(least);
        }
        result.bound = result.least.back();
        result.is_exact = is_exact_;
        if (is_exact_) result.piece = pieces();
        return result;
    }

private:
    struct Step {
        std::uint32_t node;
        std::vector<std::uint32_t> slots;                              ///< nodes, before it was placed
        std::vector<std::pair<std::uint32_t, std::uint32_t>> parents;  ///< and `joined`, of each state after
    };

    bool is_open(const CostedGraph::End& end) const { return graph_.use[end.edge] == EdgeUse::kOpen; }

    void use(const CostedGraph::End& end, std::uint32_t v, EdgeUse how) {
        graph_.use[end.edge] = how;
        open_.close(end, v);
        is_exact_ = is_exact_ && how == EdgeUse::kCounted;
    }

    void place(std::uint32_t v) {
        std::vector<double> to_slot(slots_.size(), 0.0);
        std::size_t near = 0;
        for (const CostedGraph::End& end : graph_.ends[v]) {
            if (!is_open(end) || !is_placed_[end.node]) continue;
            const auto slot = std::find(slots_.begin(), slots_.end(), end.node) - slots_.begin();
            double& cost = to_slot[static_cast<std::size_t>(slot)];
            if (cost <= 0 && near == kMostNear) {
                use(end, v, EdgeUse::kSkipped);
                continue;
            }
            near += cost <= 0;
            cost += graph_.cost[end.edge];
            use(end, v, EdgeUse::kCounted);
        }
        is_placed_[v] = true;
        placed_weight_ += graph_.weight[v];
        ++placed_;
        std::vector<PieceState> grown;
        steps_.push_back({v, slots_, {}});
        for (std::uint32_t k = 0; k < states_.size(); ++k) {
            if ((k & 31U) == 0 && expired_()) return;
            extend(k, v, to_slot, grown);
            if (grown.size() < kMostGrown) continue;
            slots_.push_back(v);
            thin(grown);
            slots_.pop_back();
        }
        slots_.push_back(v);
        states_ = std::move(grown);
        settle();
        for (const PieceState& state : states_)
            steps_.back().parents.emplace_back(state.parent, state.joined);
    }

    /// The node alone, and with every set of pieces next to it that is light enough.
    void extend(std::uint32_t index, std::uint32_t v, const std::vector<double>& to_slot,
                std::vector<PieceState>& grown) const {
        const PieceState& state = states_[index];
        std::array<double, kMostSlots + 1> to_block{};
        std::array<std::uint32_t, kMostSlots + 1> bits{};
        std::vector<std::uint8_t> near;
        for (std::size_t s = 0; s < slots_.size(); ++s) {
            const std::uint8_t b = state.block[s];
            bits[b] |= 1U << s;
            if (to_slot[s] <= 0) continue;
            if (to_block[b] == 0) near.push_back(b);
            to_block[b] += to_slot[s];
        }
        const double rest = plan_.rest.empty() ? 0.0 : plan_.rest[placed_];
        const auto own = static_cast<std::uint8_t>(slots_.size());
        const std::uint32_t sets = 1U << near.size();
        for (std::uint32_t set = 0; set < sets; ++set) {
            double weight = graph_.weight[v],
                   off = 0;  // a sum, for a difference of large costs loses small ones
            std::uint32_t joined = 0;
            for (std::size_t k = 0; k < near.size(); ++k) {
                if ((set >> k & 1U) == 0) {
                    off += to_block[near[k]];
                    continue;
                }
                weight += state.weight[near[k]];
                joined |= bits[near[k]];
            }
            if (set != 0 && weight > limit_) continue;
            const double cost = state.cost + off;
            if (cost + rest >= plan_.upper) continue;
            PieceState& after = grown.emplace_back(state);
            after.cost = cost;
            after.parent = index;
            after.joined = joined;
            for (std::size_t s = 0; s < slots_.size(); ++s)
                if (joined >> s & 1U) after.block[s] = own;
            after.block[own] = own;
            after.weight[own] = weight;
        }
    }

    /// Forgets nodes without neighbours to come, more where there are too many, and states that are not
    /// needed.
    void settle() {
        forget();
        while (slots_.size() > kMostSlots) skip_furthest();
        if (!states_.empty()) thin(states_);
    }

    void thin(std::vector<PieceState>& states) {
        std::vector<double> pending;
        for (const std::uint32_t slot : slots_) pending.push_back(open_.cost_of(slot));
        double least = kInfinite;
        for (const PieceState& state : states) least = std::min(least, state.cost);
        const double heavy = placed_weight_ > 0 ? least / placed_weight_ : 0.0;
        if (reduce(states, pending, heavy, plan_.most_states, expired_)) is_exact_ = false;
    }

    /// Leaves the edges to come of the node that is needed last to the next sweep.
    void skip_furthest() {
        std::uint32_t furthest = slots_.front(), at = 0;
        for (const std::uint32_t slot : slots_) {
            const std::uint32_t needed = open_.next_rank(slot);
            if (needed < at) continue;
            at = needed;
            furthest = slot;
        }
        for (const CostedGraph::End& end : graph_.ends[furthest])
            if (is_open(end)) use(end, furthest, EdgeUse::kSkipped);
        forget();
    }

    /// Takes nodes without neighbours to come off the slots, and numbers pieces by their first slot.
    void forget() {
        std::vector<std::uint32_t> kept;
        for (std::uint32_t s = 0; s < slots_.size(); ++s)
            if (open_.count(slots_[s]) > 0) kept.push_back(s);
        for (PieceState& state : states_) {
            PieceState after;
            after.cost = state.cost;
            after.parent = state.parent;
            after.joined = state.joined;
            std::array<std::uint8_t, kMostSlots + 1> number;
            number.fill(UINT8_MAX);
            std::uint8_t count = 0;
            for (std::size_t s = 0; s < kept.size(); ++s) {
                const std::uint8_t block = state.block[kept[s]];
                if (number[block] == UINT8_MAX) {
                    after.weight[count] = state.weight[block];
                    number[block] = count++;
                }
                after.block[s] = number[block];
            }
            state = after;
        }
        std::vector<std::uint32_t> nodes;
        for (const std::uint32_t s : kept) nodes.push_back(slots_[s]);
        slots_ = std::move(nodes);
    }

    /// Follows the last state back to the first.
    Labels pieces() const {
        std::vector<std::uint32_t> root(graph_.weight.size());
        std::iota(root.begin(), root.end(), 0U);
        const auto find = [&](std::uint32_t v) {
            while (root[v] != v) v = root[v] = root[root[v]];
            return v;
        };
        std::uint32_t state = 0;
        for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
            const auto [parent, joined] = step->parents[state];
            for (std::size_t s = 0; s < step->slots.size(); ++s)
                if (joined >> s & 1U) root[find(step->slots[s])] = find(step->node);
            state = parent;
        }
        Labels piece(root.size());
        for (std::uint32_t v = 0; v < root.size(); ++v) piece[v] = static_cast<std::int32_t>(find(v));
        return piece;
    }

    CostedGraph& graph_;
    const SweepPlan& plan_;
    const std::function<bool()>& expired_;
    double limit_;
    bool is_exact_ = true;
    std::vector<std::uint32_t> rank_;
    std::vector<bool> is_placed_;
    OpenEdges open_;
    std::vector<std::uint32_t> slots_;  ///< nodes placed with neighbours to come
    std::size_t placed_ = 0;
    double placed_weight_ = 0;
    std::vector<PieceState> states_{PieceState{}};
    std::vector<Step> steps_;
};

}  // namespace

SweepResult sweep_pieces(CostedGraph& graph, const SweepPlan& plan, const std::function<bool()>& expired) {
    return Sweep(graph, plan, expired).run();
}

}  // namespace dse::partition
