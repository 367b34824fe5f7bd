// Steiner trees of sums and copies that grow from a root along the links with least to carry.
#include "collectives/trees/sum_trees.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace dse::synthesis {

namespace {

constexpr std::uint32_t kNoGate = ~std::uint32_t{0};
constexpr double kUnseen = std::numeric_limits<double>::infinity();

}  // namespace

EndsOfChunks ends_of_all(const Problem& problem) {
    EndsOfChunks ends{{SumEnds{}}, std::vector<std::uint32_t>(problem.chunks, 0)};
    ends.kinds[0].from.resize(problem.npus);
    std::iota(ends.kinds[0].from.begin(), ends.kinds[0].from.end(), 0U);
    ends.kinds[0].to = ends.kinds[0].from;
    return ends;
}

EndsOfChunks ends_of(const Problem& problem, const std::vector<Want>& from, const std::vector<Want>& to) {
    using Key = std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>;
    std::vector<Key> by_chunk(problem.chunks);
    for (const Want& end : from) by_chunk[end.chunk].first.push_back(end.node);
    for (const Want& end : to) by_chunk[end.chunk].second.push_back(end.node);
    EndsOfChunks ends;
    std::map<Key, std::uint32_t> numbers;
    for (Key& own : by_chunk) {
        std::sort(own.first.begin(), own.first.end());
        std::sort(own.second.begin(), own.second.end());
        const auto [at, is_new] = numbers.emplace(own, static_cast<std::uint32_t>(ends.kinds.size()));
        if (is_new) ends.kinds.push_back({std::move(own.first), std::move(own.second)});
        ends.kind_of.push_back(at->second);
    }
    return ends;
}

TreeGrower::TreeGrower(const Problem& problem, const EndsOfChunks& ends, const Lanes& lanes)
    : problem_(problem),
      ends_(ends),
      lanes_(lanes),
      is_limited_(!problem.engines.empty()),
      costs_rise_(is_limited_ || !lanes.empty()),
      loads_(problem.links.size(), 0),
      sent_(problem.nodes, 0),
      received_(problem.nodes, 0),
      cost_(problem.nodes),
      depth_(problem.nodes),
      by_(problem.nodes),
      gate_(problem.nodes),
      is_end_(problem.nodes),
      inner_hops_(problem.nodes) {}

void TreeGrower::clear() {
    for (std::vector<Picoseconds>* loads : {&loads_, &sent_, &received_})
        std::fill(loads->begin(), loads->end(), Picoseconds{0});
}

Picoseconds TreeGrower::most_load() const {
    Picoseconds most = loads_.empty() ? 0 : *std::max_element(loads_.begin(), loads_.end());
    const auto look_at = [&](const std::vector<std::uint32_t>& limits,
                             const std::vector<Picoseconds>& loads) {
        for (std::size_t node = 0; node < limits.size(); ++node)
            if (limits[node] > 0) most = std::max(most, loads[node] / limits[node]);
    };
    look_at(problem_.engines.sends, sent_);
    look_at(problem_.engines.receives, received_);
    return most;
}

AddingTree TreeGrower::grow(std::uint32_t chunk, std::uint32_t root, const Growth& growth, Random& random) {
    AddingTree tree;
    tree.root = root;
    tree.hops.reserve(2 * std::size_t{problem_.npus});
    base_ = loads_.empty() ? 0 : kNever;
    for (std::uint32_t l = 0; l < loads_.size(); ++l) base_ = std::min(base_, loads_[lane_of(lanes_, l)]);
    grow_half<true>(ends_.of(chunk), tree, growth, random);
    tree.sums = static_cast<std::uint32_t>(tree.hops.size());
    grow_half<false>(ends_.of(chunk), tree, growth, random);
    if (!lanes_.empty())
        for (const TreeHop& hop : tree.hops) loads_[lanes_[hop.link]] -= problem_.links[hop.link].held;
    return tree;
}

void TreeGrower::add(const AddingTree& tree, int sign) {
    for (const TreeHop& hop : tree.hops) {
        const Link& link = problem_.links[hop.link];
        loads_[lane_of(lanes_, hop.link)] += sign * link.held;
        sent_[link.from] += sign * link.held;
        received_[link.to] += sign * link.held;
    }
}

template <bool kSums>
void TreeGrower::grow_half(const SumEnds& ends, AddingTree& tree, const Growth& growth, Random& random) {
    std::fill(cost_.begin(), cost_.end(), kUnseen);
    std::fill(gate_.begin(), gate_.end(), kNoGate);
    std::fill(inner_hops_.begin(), inner_hops_.end(), 0U);
    heap_.clear();
    std::fill(is_end_.begin(), is_end_.end(), std::uint8_t{0});
    for (const std::uint32_t node : ends.of(kSums)) is_end_[node] = 1;
    missing_ = static_cast<std::uint32_t>(ends.of(kSums).size()) - is_end_[tree.root];
    gate_[tree.root] = 0;
    depth_[tree.root] = 0.0;
    cost_[tree.root] = 0.0;
    offer_from<kSums>(tree.root, 0.0, growth, random);
    while (missing_ > 0) {
        if (heap_.empty())
            throw InputError(std::string("an NPU has no way ") + (kSums ? "to" : "from") + " node " +
                             std::to_string(tree.root));
        std::pop_heap(heap_.begin(), heap_.end());
        const Candidate next = heap_.back();
        heap_.pop_back();
        const std::uint32_t node = next.node;
        if (gate_[node] != kNoGate) continue;
        if (!costs_rise_) {
            if (next.cost > cost_[node]) continue;
        } else {
            if (cost_[node] != kUnseen) continue;  // a relay by a cheaper way
            const double now = next.others + cost_of<kSums>(next.link, growth);
            if (now > next.cost) {  // the lane, or the engines of the inner end, have got more to do since
                heap_.push_back({now, node, next.link, next.others});
                std::push_heap(heap_.begin(), heap_.end());
                continue;
            }
            by_[node] = next.link;
            cost_[node] = next.cost;
        }
        if (is_end_[node] == 0) {
            offer_from<kSums>(node, next.cost, growth, random);
            continue;
        }
        join<kSums>(node, tree);
        for (const std::uint32_t joined : way_)
            offer_from<kSums>(joined, growth.depth * depth_[joined], growth, random);
    }
}

/// Adds the way from the tree to an end.
template <bool kSums>
void TreeGrower::join(std::uint32_t node, AddingTree& tree) {
    const auto inner = [&](std::uint32_t outer) {
        const Link& link = problem_.links[by_[outer]];
        return kSums ? link.to : link.from;
    };
    way_.clear();
    std::uint32_t at = node;
    while (gate_[at] == kNoGate) {
        way_.push_back(at);
        at = inner(at);
    }
    std::uint32_t gate = gate_[at];
    std::reverse(way_.begin(), way_.end());
    std::size_t kept = 0;
    for (const std::uint32_t outer : way_) {
        depth_[outer] = depth_[inner(outer)] + static_cast<double>(problem_.links[by_[outer]].arrival);
        if (is_limited_) depth_[outer] += wait_at<kSums>(by_[outer]);
        ++inner_hops_[inner(outer)];
        if (!lanes_.empty()) loads_[lanes_[by_[outer]]] += problem_.links[by_[outer]].held;
        tree.hops.push_back({by_[outer], gate});
        gate = static_cast<std::uint32_t>(tree.hops.size());
        if (outer >= problem_.npus && !branches(problem_, outer, kSums)) continue;  // only passes
        gate_[outer] = gate;
        cost_[outer] = 0.0;
        missing_ -= is_end_[outer];
        way_[kept++] = outer;
    }
    way_.resize(kept);
}

/// How long a hop over a link waits for the engine of its inner end, which has other hops of the tree.
template <bool kSums>
double TreeGrower::wait_at(std::uint32_t l) const {
    const Link& link = problem_.links[l];
    const std::vector<std::uint32_t>& limits = kSums ? problem_.engines.receives : problem_.engines.sends;
    const std::uint32_t inner = kSums ? link.to : link.from;
    if (limits.empty() || limits[inner] == 0) return 0.0;
    return static_cast<double>(inner_hops_[inner] / limits[inner]) * static_cast<double>(link.held);
}

/// Returns the load of a link, or of an engine at it, with one more hop, and the wait for an engine.
template <bool kSums>
double TreeGrower::cost_of(std::uint32_t l, const Growth& growth) const {
    const Link& link = problem_.links[l];
    Picoseconds load = loads_[lane_of(lanes_, l)];
    const auto look_at = [&](const std::vector<std::uint32_t>& limits, const std::vector<Picoseconds>& loads,
                             std::uint32_t node, bool is_inner) {
        if (limits.empty() || limits[node] == 0) return;
        const Picoseconds own = is_inner ? link.held * inner_hops_[node] : 0;
        load = std::max(load, (loads[node] + own) / limits[node]);
    };
    look_at(problem_.engines.sends, sent_, link.from, !kSums);
    look_at(problem_.engines.receives, received_, link.to, kSums);
    return static_cast<double>(load - base_ + link.held) + growth.depth * wait_at<kSums>(l);
}

template <bool kSums>
void TreeGrower::offer_from(std::uint32_t node, double cost, const Growth& growth, Random& random) {
    const LinksPerNode& near = kSums ? problem_.into : problem_.out_of;
    for (std::uint32_t i = near.begin[node]; i < near.begin[node + 1]; ++i) {
        const std::uint32_t l = near.links[i];
        const Link& link = problem_.links[l];
        const std::uint32_t outer = kSums ? link.from : link.to;
        if (gate_[outer] != kNoGate) continue;
        const auto held = static_cast<double>(link.held);
        double now =
            cost + (costs_rise_ ? cost_of<kSums>(l, growth) : static_cast<double>(loads_[l] - base_) + held);
        if (growth.noise > 0.0) now += growth.noise * held * random.unit();
        if (costs_rise_) {
            heap_.push_back({now, outer, l, now - cost_of<kSums>(l, growth)});
        } else {
            if (now >= cost_[outer]) continue;
            cost_[outer] = now;
            by_[outer] = l;
            heap_.push_back({now, outer, l, now});
        }
        std::push_heap(heap_.begin(), heap_.end());
    }
}

}  // namespace dse::synthesis
