// Roots near to all NPUs, and first keys of hops.
#include "collectives/trees/sum_trees_start.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace dse::synthesis {

namespace {

/// How long a chunk takes from a node to the farthest NPU, at least.
Picoseconds way_to_farthest(const Problem& problem, std::uint32_t from, std::vector<Picoseconds>& at) {
    using Entry = std::pair<Picoseconds, std::uint32_t>;
    std::vector<Entry> heap = {{0, from}};
    Picoseconds farthest = 0;
    at.assign(problem.nodes, kNever);
    at[from] = 0;
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), std::greater<>());
        const auto [time, node] = heap.back();
        heap.pop_back();
        if (time > at[node]) continue;
        if (node < problem.npus) farthest = time;
        for (std::uint32_t i = problem.out_of.begin[node]; i < problem.out_of.begin[node + 1]; ++i) {
            const Link& link = problem.links[problem.out_of.links[i]];
            if (time + link.arrival >= at[link.to]) continue;
            at[link.to] = time + link.arrival;
            heap.emplace_back(at[link.to], link.to);
            std::push_heap(heap.begin(), heap.end(), std::greater<>());
        }
    }
    return farthest;
}

}  // namespace

NearRoots::NearRoots(const Problem& problem) {
    std::vector<Picoseconds> farthest(problem.nodes, 0), at, from_first;
    way_to_farthest(problem, 0, from_first);
    for (std::uint32_t node = 0; node < problem.nodes; ++node) {
        if (!can_be_root(problem, node)) continue;
        farthest[node] = way_to_farthest(problem, node, at);
        // All NPUs reach each other, so one of them tells of a switch at the end of a one-way street.
        if (from_first[node] != kNever && at[0] != kNever) nodes_.push_back(node);
    }
    std::stable_sort(nodes_.begin(), nodes_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return farthest[a] < farthest[b]; });
    as_near_.resize(nodes_.size());
    for (std::size_t i = nodes_.size(); i-- > 0;) {
        const bool is_last_so_near = i + 1 == nodes_.size() || farthest[nodes_[i]] != farthest[nodes_[i + 1]];
        as_near_[i] = is_last_so_near ? static_cast<std::uint32_t>(i + 1) : as_near_[i + 1];
    }
}

std::vector<Picoseconds> keys_around(const Problem& problem, const AddingTree& tree, Picoseconds at) {
    std::vector<Picoseconds> keys(tree.hops.size()), way(tree.hops.size() + 1, 0);
    for (std::size_t i = 0; i < tree.hops.size(); ++i) {
        const Picoseconds before = way[tree.hops[i].gate];
        way[i + 1] = before + problem.links[tree.hops[i].link].arrival;
        keys[i] = i < tree.sums ? at - way[i + 1] : at + before;
    }
    return keys;
}

}  // namespace dse::synthesis
