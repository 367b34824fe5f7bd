// A subtree of sums or copies that hangs on another node.
#include "collectives/trees/sum_trees_change.hpp"

#include <algorithm>
#include <utility>

namespace dse::synthesis {

namespace {

constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
constexpr int kTries = 4;
constexpr std::size_t kMostLinks = 8;  // of a way past switches

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

    /// The hops of the way of which one is a part, between nodes where hops may meet, the innermost first.
    std::vector<std::uint32_t> way_of(std::uint32_t hop) const {
        std::vector<std::uint32_t> way;
        for (std::uint32_t h = hop;; h = tree_.hops[h].gate - 1) {
            way.push_back(h);
            if (tree_.hops[h].gate == 0 || can_meet(inner(tree_.hops[h].link))) break;
        }
        std::reverse(way.begin(), way.end());
        while (!can_meet(outer(way.back()))) {
            std::uint32_t next = first();
            while (next < last() && tree_.hops[next].gate != way.back() + 1) ++next;
            if (next == last()) break;
            way.push_back(next);
        }
        return way;
    }

private:
    std::uint32_t first() const { return sums_ ? 0 : tree_.sums; }
    std::uint32_t last() const { return sums_ ? tree_.sums : static_cast<std::uint32_t>(tree_.hops.size()); }

    const Problem& problem_;
    const AddingTree& tree_;
    bool sums_;
};

/// Links from a node inwards to one where hops may meet, the innermost first; nothing if that takes too many.
std::vector<std::uint32_t> drawn_way(const Problem& problem, const HalfTree& half, std::uint32_t node,
                                     Random& random) {
    const LinksPerNode& near = half.sums() ? problem.out_of : problem.into;
    std::vector<std::uint32_t> links;
    do {
        const std::uint32_t count = near.begin[node + 1] - near.begin[node];
        if (count == 0 || links.size() == kMostLinks) return {};
        links.push_back(near.links[near.begin[node] + random.below(count)]);
        node = half.inner(links.back());
    } while (!half.can_meet(node));
    std::reverse(links.begin(), links.end());
    return links;
}

/// Puts other links in the place of a way, from a gate on. Gates of hops further out stay at their hops.
void replace_way(AddingTree& tree, const std::vector<std::uint32_t>& way,
                 const std::vector<std::uint32_t>& links, std::uint32_t gate,
                 std::vector<Picoseconds>& keys) {
    const auto count = static_cast<std::uint32_t>(tree.hops.size());
    std::vector<std::uint32_t> place(count + 1, 0);  // per gate
    std::vector<TreeHop> hops;
    std::vector<Picoseconds> their_keys;
    std::uint32_t first = 0;
    for (std::uint32_t h = 0; h < count; ++h) {
        if (h == way.back()) {
            first = static_cast<std::uint32_t>(hops.size());
            for (std::size_t i = 0; i < links.size(); ++i) {
                const bool is_last = i + 1 == links.size();
                hops.push_back({links[i], 0});
                their_keys.push_back(keys[is_last ? way.back() : way[std::min(i, way.size() - 1)]]);
            }
        } else if (std::find(way.begin(), way.end(), h) == way.end()) {
            hops.push_back(tree.hops[h]);
            their_keys.push_back(keys[h]);
        }
        place[h + 1] = static_cast<std::uint32_t>(hops.size());
    }
    const auto last = static_cast<std::uint32_t>(first + links.size());
    for (std::uint32_t h = 0; h < hops.size(); ++h) {
        const bool is_of_way = h >= first && h < last;
        hops[h].gate = is_of_way && h > first ? h : place[is_of_way ? gate : hops[h].gate];
    }
    if (way.back() < tree.sums) tree.sums = static_cast<std::uint32_t>(tree.sums + links.size() - way.size());
    tree.hops = std::move(hops);
    keys = std::move(their_keys);
}

}  // namespace

void move_hop(const Problem& problem, const SumEnds& ends, AddingTree& tree, std::uint32_t hop,
              Random& random, std::vector<Picoseconds>& keys) {
    const HalfTree half(problem, tree, hop);
    const std::vector<std::uint32_t> way = half.way_of(hop);
    const std::uint32_t node = half.outer(way.back()), left = half.inner(tree.hops[way.front()].link);
    if (!half.can_meet(node)) return;
    // A relay that is left alone would have nothing to send, or no one to send to.
    if (!ends.has(left, half.sums()) && half.hops_at(tree.hops[way.front()].gate) < 2) return;
    for (int tried = 0; tried < kTries; ++tried) {
        const std::vector<std::uint32_t> links = drawn_way(problem, half, node, random);
        if (links.empty()) continue;
        const std::uint32_t to = half.inner(links.front());
        const bool is_same =
            std::equal(links.begin(), links.end(), way.begin(), way.end(),
                       [&](std::uint32_t link, std::uint32_t h) { return link == tree.hops[h].link; });
        if (is_same) continue;
        const std::uint32_t gate = to == left ? tree.hops[way.front()].gate : half.gate_of(to);
        if (gate == kNowhere || half.passes(gate, way.back())) continue;
        replace_way(tree, way, links, gate, keys);
        return;
    }
}

}  // namespace dse::synthesis
