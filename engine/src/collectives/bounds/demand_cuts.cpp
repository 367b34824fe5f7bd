// Sets differ by one node from step to step: what they lack at a time changes by what that node gains.
#include "collectives/bounds/demand_cuts.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace dse::synthesis {

namespace {

class Cuts {
public:
    Cuts(const DemandLinks& links, const std::vector<Amount>& demand, Picoseconds from)
        : links_(links), demand_(demand), inside_(links.nodes, 0), gain_(links.nodes, 0) {
        total_ = std::accumulate(demand.begin(), demand.end(), Amount{0});
        best_.time = from;
        weigh();
    }

    DemandCut take() { return std::move(best_); }
    bool is_impossible() const { return best_.time == kNever; }

    /// Takes a node in or out.
    void flip(std::uint32_t node) {
        lack_ += gain_[node];
        inside_[node] ^= 1U;
        gain_[node] = -gain_[node];
        for (std::uint32_t v = 0; v < links_.nodes; ++v)
            if (v != node) gain_[v] += inside_[v] == inside_[node] ? between(node, v) : -between(node, v);
        raise();
    }

    void start_at(const std::vector<std::uint8_t>& inside) {
        inside_ = inside;
        measure();
        raise();
    }

    /// Flips the node that gains most until none gains.
    void climb() {
        while (!is_impossible()) {
            const auto node = std::max_element(gain_.begin(), gain_.end());
            if (node == gain_.end() || *node <= 0) return;
            flip(static_cast<std::uint32_t>(node - gain_.begin()));
        }
    }

private:
    Amount at(std::uint32_t from, std::uint32_t to) const {
        return lack_between_[std::size_t{from} * links_.nodes + to];
    }
    Amount between(std::uint32_t a, std::uint32_t b) const { return at(a, b) + at(b, a); }

    /// Sets for each pair of nodes the demand that no link between them can have delivered by the best time.
    void weigh() {
        lack_between_ = demand_;
        for (std::size_t l = 0; l < links_.times.size(); ++l) {
            const AlikeLinks& link = links_.times[l];
            if (link.start >= kNever / 2 || link.tail >= kNever / 2) continue;
            lack_between_[std::size_t{links_.from[l]} * links_.nodes + links_.to[l]] -=
                link.delivered(best_.time, total_);
        }
        measure();
    }

    void measure() {
        lack_ = 0;
        std::fill(gain_.begin(), gain_.end(), 0);
        for (std::uint32_t u = 0; u < links_.nodes; ++u)
            for (std::uint32_t v = 0; v < links_.nodes; ++v) {
                if (u == v) continue;
                const bool enters = inside_[v] && !inside_[u];
                if (enters) lack_ += at(u, v);
                // With v on the other side the arc enters or no longer does; the same with u.
                if (!inside_[u]) gain_[v] += inside_[v] ? -at(u, v) : at(u, v);
                if (inside_[v]) gain_[u] += inside_[u] ? at(u, v) : -at(u, v);
            }
    }

    /// The time that the set takes is the best from now on, if it lacks something by the best so far.
    void raise() {
        while (lack_ > 0 && !is_impossible()) {
            Amount need = 0;
            for (std::uint32_t u = 0; u < links_.nodes; ++u)
                for (std::uint32_t v = 0; v < links_.nodes; ++v)
                    if (!inside_[u] && inside_[v]) need += demand_[std::size_t{u} * links_.nodes + v];
            std::vector<AlikeLinks> into;
            for (std::size_t l = 0; l < links_.times.size(); ++l)
                if (!inside_[links_.from[l]] && inside_[links_.to[l]]) into.push_back(links_.times[l]);
            best_ = {earliest(into, need, best_.time), inside_};
            if (!is_impossible()) weigh();
        }
    }

    const DemandLinks& links_;
    const std::vector<Amount>& demand_;
    Amount total_ = 0, lack_ = 0;
    std::vector<std::uint8_t> inside_;
    std::vector<Amount> gain_;          ///< per node by how much more the set lacks once it is flipped
    std::vector<Amount> lack_between_;  ///< per pair of nodes, at the best time
    DemandCut best_;
};

}  // namespace

DemandCut longest_demand_cut(const DemandLinks& links, const std::vector<Amount>& demand,
                             const std::vector<std::vector<std::uint8_t>>& starts, Picoseconds from,
                             const Checkpoint& checkpoint) {
    Cuts cuts(links, demand, from);
    if (links.nodes <= kMostNodesOfAllCuts) {
        // Gray's code: step i flips the node whose number is that of the lowest bit of i.
        for (std::uint64_t i = 1; i < std::uint64_t{1} << links.nodes && !cuts.is_impossible(); ++i) {
            cuts.flip(static_cast<std::uint32_t>(std::countr_zero(i)));
            checkpoint.every(i);
        }
        return cuts.take();
    }
    for (const std::vector<std::uint8_t>& start : starts) {
        if (cuts.is_impossible()) break;
        cuts.start_at(start);
        cuts.climb();
        checkpoint.look();
    }
    return cuts.take();
}

}  // namespace dse::synthesis
