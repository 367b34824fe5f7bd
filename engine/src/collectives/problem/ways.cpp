// Shortest ways by Dijkstra's algorithm, which stops when all asked targets of a source are reached.
#include "collectives/problem/ways.hpp"

#include <algorithm>
#include <queue>

namespace dse::synthesis {

namespace {

using ReachedAt = std::pair<Picoseconds, std::uint32_t>;

class WaySearch {
public:
    explicit WaySearch(const Problem& problem)
        : problem_(problem), distance_(problem.nodes, kNever), by_(problem.nodes, 0) {}

    void search(const NodePair* first, const NodePair* last) {
        for (std::uint32_t node : touched_) distance_[node] = kNever;
        touched_.clear();
        std::size_t open = static_cast<std::size_t>(last - first);
        std::priority_queue<ReachedAt, std::vector<ReachedAt>, std::greater<>> queue;
        reach(first->first, 0);
        queue.emplace(0, first->first);
        while (!queue.empty() && open > 0) {
            const auto [time, node] = queue.top();
            queue.pop();
            if (time > distance_[node]) continue;
            if (std::binary_search(first, last, NodePair{first->first, node})) --open;
            for (std::uint32_t i = problem_.out_of.begin[node]; i < problem_.out_of.begin[node + 1]; ++i) {
                const std::uint32_t link = problem_.out_of.links[i];
                const std::uint32_t to = problem_.links[link].to;
                const Picoseconds then = time + problem_.links[link].arrival;
                if (then >= distance_[to]) continue;
                reach(to, then);
                by_[to] = link;
                queue.emplace(then, to);
            }
        }
    }

    void append_way(NodePair pair, std::vector<std::uint32_t>& links) const {
        if (distance_[pair.second] == kNever) return;
        const std::size_t first = links.size();
        for (std::uint32_t node = pair.second; node != pair.first; node = problem_.links[by_[node]].from)
            links.push_back(by_[node]);
        std::reverse(links.begin() + static_cast<std::ptrdiff_t>(first), links.end());
    }

private:
    void reach(std::uint32_t node, Picoseconds time) {
        if (distance_[node] == kNever) touched_.push_back(node);
        distance_[node] = time;
    }

    const Problem& problem_;
    std::vector<Picoseconds> distance_;
    std::vector<std::uint32_t> by_;
    std::vector<std::uint32_t> touched_;
};

}  // namespace

std::size_t ShortestWays::at(NodePair pair) const {
    return static_cast<std::size_t>(std::lower_bound(pairs.begin(), pairs.end(), pair) - pairs.begin());
}

ShortestWays shortest_ways(const Problem& problem, std::vector<NodePair> pairs) {
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    ShortestWays ways;
    ways.begin.reserve(pairs.size() + 1);
    ways.begin.push_back(0);
    WaySearch search(problem);
    for (std::size_t p = 0; p < pairs.size();) {
        std::size_t next = p;
        while (next < pairs.size() && pairs[next].first == pairs[p].first) ++next;
        search.search(pairs.data() + p, pairs.data() + next);
        for (; p < next; ++p) {
            search.append_way(pairs[p], ways.links);
            ways.begin.push_back(ways.links.size());
        }
    }
    ways.pairs = std::move(pairs);
    return ways;
}

}  // namespace dse::synthesis
