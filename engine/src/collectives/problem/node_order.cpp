// Orders of nodes by breadth-first searches.
#include "collectives/problem/node_order.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace dse::synthesis {

namespace {

using Nodes = std::vector<std::uint32_t>;

/// Whoever shares a link with a node, those with few neighbours first.
class Neighbours {
public:
    Neighbours(std::uint32_t nodes, const std::vector<Link>& links)
        : begin_(nodes + 1, 0), neighbours_(2 * links.size()) {
        for (const Link& link : links) {
            ++begin_[link.from + 1];
            ++begin_[link.to + 1];
        }
        std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
        Nodes next(begin_.begin(), begin_.end() - 1);
        for (const Link& link : links) {
            neighbours_[next[link.from]++] = link.to;
            neighbours_[next[link.to]++] = link.from;
        }
        for (std::uint32_t v = 0; v < nodes; ++v)
            std::sort(&neighbours_[0] + begin_[v], &neighbours_[0] + begin_[v + 1],
                      [&](std::uint32_t a, std::uint32_t b) {
                          return std::pair(degree(a), a) < std::pair(degree(b), b);
                      });
    }

    std::uint32_t degree(std::uint32_t v) const { return begin_[v + 1] - begin_[v]; }

    template <typename Use>
    void each(std::uint32_t v, const Use& use) const {
        for (std::uint32_t i = begin_[v]; i < begin_[v + 1]; ++i) use(neighbours_[i]);
    }

private:
    Nodes begin_, neighbours_;
};

/// Appends what can be reached from `start` and is not marked, and marks it.
void append_by_distance(const Neighbours& neighbours, std::uint32_t start, std::vector<std::uint8_t>& marked,
                        Nodes& order) {
    std::size_t next = order.size();
    const auto append = [&](std::uint32_t v) {
        if (marked[v]) return;
        marked[v] = 1;
        order.push_back(v);
    };
    append(start);
    for (; next < order.size(); ++next) neighbours.each(order[next], append);
}

Nodes order_by_distance(std::uint32_t nodes, const Neighbours& neighbours) {
    Nodes seen, order;
    std::vector<std::uint8_t> is_seen(nodes, 0), is_ordered(nodes, 0);
    for (std::uint32_t v = 0; v < nodes; ++v) {
        if (is_ordered[v]) continue;
        append_by_distance(neighbours, v, is_seen, seen);
        append_by_distance(neighbours, seen.back(), is_ordered, order);
    }
    return order;
}

std::uint32_t reach_of(const Nodes& order, const std::vector<Link>& links) {
    Nodes rank(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
    std::uint32_t reach = 0;
    for (const Link& link : links) {
        const std::uint32_t a = rank[link.from], b = rank[link.to];
        reach = std::max(reach, a > b ? a - b : b - a);
    }
    return reach;
}

}  // namespace

NodeOrder order_near_neighbours(std::uint32_t nodes, const std::vector<Link>& links) {
    Nodes as_numbered(nodes);
    std::iota(as_numbered.begin(), as_numbered.end(), 0U);
    const std::uint32_t reach = reach_of(as_numbered, links);
    Nodes by_distance = order_by_distance(nodes, Neighbours(nodes, links));
    const std::uint32_t reach_by_distance = reach_of(by_distance, links);
    if (reach_by_distance < reach) return {std::move(by_distance), reach_by_distance};
    return {std::move(as_numbered), reach};
}

}  // namespace dse::synthesis
