// A subtree of sums or copies that hangs on another node.
#include "collectives/trees/sum_trees_change.hpp"

namespace dse::synthesis {

namespace {

constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
constexpr int kTries = 4;

/// The half of a tree, of sums or of copies, to which a hop belongs.
class HalfTree {
public:
    HalfTree(const Problem& problem, const AddingTree& tree, std::uint32_t hop)
        : problem_(problem), tree_(tree), sums_(hop < tree.sums) {}

    bool sums() const { return sums_; }

    std::uint32_t inner(std::uint32_t link) const {
        return sums_ ? problem_.links[link].to : problem_.links[link].from;
    }
    std::uint32_t outer(std::uint32_t hop) const {
        const Link& link = problem_.links[tree_.hops[hop].link];
        return sums_ ? link.from : link.to;
    }

    /// Whether hops further out may meet at a node.
    bool can_meet(std::uint32_t node) const {
        return node < problem_.npus || branches(problem_, node, sums_);
    }

    std::uint32_t gate_of(std::uint32_t node) const {
        if (node == tree_.root) return 0;
        for (std::uint32_t h = first(); h < last(); ++h)
            if (outer(h) == node) return h + 1;
        return kNowhere;
    }

    std::uint32_t hops_at(std::uint32_t gate) const {
        std::uint32_t count = 0;
        for (std::uint32_t h = first(); h < last(); ++h) count += tree_.hops[h].gate == gate ? 1 : 0;
        return count;
    }

    /// Whether the way from a gate to the root passes a hop.
    bool passes(std::uint32_t gate, std::uint32_t hop) const {
        while (gate != 0 && gate != hop + 1) gate = tree_.hops[gate - 1].gate;
        return gate != 0;
    }

private:
    std::uint32_t first() const { return sums_ ? 0 : tree_.sums; }
    std::uint32_t last() const { return sums_ ? tree_.sums : static_cast<std::uint32_t>(tree_.hops.size()); }

    const Problem& problem_;
    const AddingTree& tree_;
    bool sums_;
};

}  // namespace

void move_hop(const Problem& problem, const SumEnds& ends, AddingTree& tree, std::uint32_t hop,
              Random& random) {
    const HalfTree half(problem, tree, hop);
    const std::uint32_t node = half.outer(hop), left = half.inner(tree.hops[hop].link);
    if (!half.can_meet(node)) return;
    // A relay that is left alone would have nothing to send, or no one to send to.
    if (!ends.has(left, half.sums()) && half.hops_at(tree.hops[hop].gate) < 2) return;
    const LinksPerNode& near = half.sums() ? problem.out_of : problem.into;
    for (int tried = 0; tried < kTries; ++tried) {
        const std::uint32_t count = near.begin[node + 1] - near.begin[node];
        const std::uint32_t link = near.links[near.begin[node] + random.below(count)];
        const std::uint32_t to = half.inner(link);
        if (to == left) {
            if (link == tree.hops[hop].link) continue;
            tree.hops[hop].link = link;  // in parallel
            return;
        }
        if (!half.can_meet(to)) continue;
        const std::uint32_t gate = half.gate_of(to);
        if (gate == kNowhere || half.passes(gate, hop)) continue;
        tree.hops[hop] = {link, gate};
        return;
    }
}

}  // namespace dse::synthesis
