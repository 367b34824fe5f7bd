// Roots near to all ends, trees of a schedule, and first keys of hops.
#include "collectives/trees/sum_trees_start.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace dse::synthesis {

namespace {

/// How long a chunk takes from a node to the farthest of its ends, at least.
Picoseconds way_to_farthest(const Problem& problem, const SumEnds& ends, std::uint32_t from,
                            std::vector<Picoseconds>& at) {
    using Entry = std::pair<Picoseconds, std::uint32_t>;
    std::vector<Entry> heap = {{0, from}};
    at.assign(problem.nodes, kNever);
    at[from] = 0;
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), std::greater<>());
        const auto [time, node] = heap.back();
        heap.pop_back();
        if (time > at[node]) continue;
        for (std::uint32_t i = problem.out_of.begin[node]; i < problem.out_of.begin[node + 1]; ++i) {
            const Link& link = problem.links[problem.out_of.links[i]];
            if (time + link.arrival >= at[link.to]) continue;
            at[link.to] = time + link.arrival;
            heap.emplace_back(at[link.to], link.to);
            std::push_heap(heap.begin(), heap.end(), std::greater<>());
        }
    }
    Picoseconds farthest = 0;
    for (const std::uint32_t node : ends.to)
        if (at[node] != kNever) farthest = std::max(farthest, at[node]);
    return farthest;
}

constexpr std::size_t kNoSend = ~std::size_t{0};

/// Appends the hops of one half of a tree, whose root is known or found here; false if it is no tree.
class HalfReader {
public:
    HalfReader(const Problem& problem, const std::vector<Send>& sends) : problem_(problem), sends_(sends) {
        send_to_.assign(problem.nodes, kNoSend);
    }

    bool read(const std::vector<std::size_t>& numbers, bool sums, std::optional<std::uint32_t>& root,
              TreesOfSends& found) {
        bool is_tree = true;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            std::size_t& known = send_to_[outer(numbers[i], sums)];
            is_tree &= known == kNoSend;
            known = i;
        }
        AddingTree& tree = found.trees.back();
        const std::size_t first = tree.hops.size();
        for (std::size_t i = 0; i < numbers.size() && is_tree; ++i) {
            const std::uint32_t inner = outer(numbers[i], !sums);
            if (send_to_[inner] == kNoSend) {
                if (!root) root = inner;
                is_tree = *root == inner;
            }
            const bool at_root = root && *root == inner;
            is_tree &= !at_root || send_to_[inner] == kNoSend;
            const std::size_t gate = at_root ? 0 : first + send_to_[inner] + 1;
            tree.hops.push_back({sends_[numbers[i]].link, static_cast<std::uint32_t>(gate)});
            found.send_of.push_back(numbers[i]);
        }
        for (const std::size_t number : numbers) send_to_[outer(number, sums)] = kNoSend;
        return is_tree;
    }

private:
    std::uint32_t outer(std::size_t number, bool sums) const {
        const Link& link = problem_.links[sends_[number].link];
        return sums ? link.from : link.to;
    }

    const Problem& problem_;
    const std::vector<Send>& sends_;
    std::vector<std::size_t> send_to_;  ///< per node the hop of which it is the outer end
};

}  // namespace

std::optional<TreesOfSends> trees_of(const Problem& problem, const EndsOfChunks& ends,
                                     const std::vector<Send>& sends,
                                     const std::vector<std::uint8_t>& reduce) {
    std::vector<std::vector<std::size_t>> sums(problem.chunks), copies(problem.chunks);
    for (std::size_t i = 0; i < sends.size(); ++i)
        (reduce[i] != 0 ? sums : copies)[sends[i].chunk].push_back(i);
    TreesOfSends found;
    HalfReader reader(problem, sends);
    for (std::uint32_t chunk = 0; chunk < problem.chunks; ++chunk) {
        found.trees.emplace_back();
        std::optional<std::uint32_t> root;
        if (!reader.read(sums[chunk], true, root, found)) return std::nullopt;
        found.trees.back().sums = static_cast<std::uint32_t>(found.trees.back().hops.size());
        if (!reader.read(copies[chunk], false, root, found)) return std::nullopt;
        const SumEnds& own = ends.of(chunk);
        if (!root) root = own.from.empty() ? 0 : own.from.front();
        found.trees.back().root = *root;
    }
    return found;
}

NearRoots::NearRoots(const Problem& problem, const SumEnds& ends) {
    if (ends.from.size() < 2 || ends.to.size() < 2) {
        const std::vector<std::uint32_t>& alone = ends.from.size() < 2 ? ends.from : ends.to;
        nodes_ = {alone.empty() ? 0 : alone.front()};
        as_near_ = {1};
        return;
    }
    const std::uint32_t one = ends.to.front();
    std::vector<Picoseconds> farthest(problem.nodes, 0), at, from_first;
    way_to_farthest(problem, ends, one, from_first);
    Picoseconds most = 0;
    for (const std::uint32_t node : ends.to)
        most = std::max(most, farthest[node] = way_to_farthest(problem, ends, node, at));
    for (std::uint32_t node = 0; node < problem.nodes; ++node) {
        if (!can_be_root(problem, node)) continue;
        farthest[node] = way_to_farthest(problem, ends, node, at);
        // All ends reach each other, so one of them tells of a relay at the end of a one-way street.
        if (from_first[node] != kNever && at[one] != kNever && farthest[node] <= most) nodes_.push_back(node);
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
