#include "partition/search/elimination.hpp"

#include <cmath>
#include <set>

namespace dse::partition {

namespace {

/// Costs of all combinations of devices of some nodes; the first node's device counts fastest.
struct Table {
    std::vector<std::uint32_t> nodes;
    std::vector<double> cost;
};

/// The order of elimination, and the neighbours that each node then has.
struct Order {
    std::vector<std::uint32_t> nodes;
    std::vector<std::vector<std::uint32_t>> around;
    double work = 0;
};

/// Without time it ends early, and its work says that there is none.
Order least_degree_order(const Problem& problem, double most_work, const std::function<bool()>& expired) {
    std::vector<std::set<std::uint32_t>> near(problem.nodes);
    for (const Edge& edge : problem.edges) {
        near[edge.from].insert(edge.to);
        near[edge.to].insert(edge.from);
    }
    std::set<std::pair<std::size_t, std::uint32_t>> by_degree;
    for (std::uint32_t v = 0; v < problem.nodes; ++v) by_degree.emplace(near[v].size(), v);
    Order order;
    while (!by_degree.empty() && order.work <= most_work) {
        if ((order.nodes.size() & 1023U) == 1023 && expired()) order.work = kInfinite;
        const std::uint32_t v = by_degree.begin()->second;
        by_degree.erase(by_degree.begin());
        order.nodes.push_back(v);
        order.around.emplace_back(near[v].begin(), near[v].end());
        const auto& around = order.around.back();
        order.work += std::pow(static_cast<double>(problem.devices), static_cast<double>(around.size() + 1)) *
                      static_cast<double>(around.size() + 1);
        if (order.work > most_work) break;
        for (const std::uint32_t u : around) {
            by_degree.erase({near[u].size(), u});
            near[u].erase(v);
            for (const std::uint32_t other : around)
                if (other != u) near[u].insert(other);
            by_degree.emplace(near[u].size(), u);
        }
    }
    return order;
}

class Elimination {
public:
    Elimination(const Problem& problem, Order order)
        : problem_(problem),
          order_(std::move(order)),
          place_(problem.nodes),
          tables_(problem.nodes),
          edges_(problem.nodes) {
        for (std::uint32_t k = 0; k < order_.nodes.size(); ++k) place_[order_.nodes[k]] = k;
        for (std::uint32_t i = 0; i < problem.edges.size(); ++i)
            edges_[first_of({problem.edges[i].from, problem.edges[i].to})].push_back(i);
    }

    Labels run(const std::function<bool()>& expired) {
        std::vector<std::vector<std::uint16_t>> best(problem_.nodes);
        for (std::size_t k = 0; k < order_.nodes.size(); ++k) {
            if (expired()) return {};
            best[k] = eliminate(order_.nodes[k], order_.around[k], expired);
        }
        if (expired()) return {};  // the last one may not be done
        Labels labels(problem_.nodes, 0);
        for (std::size_t k = order_.nodes.size(); k-- > 0;) {
            std::size_t at = 0, stride = 1;
            for (const std::uint32_t u : order_.around[k]) {
                at += stride * static_cast<std::size_t>(labels[u]);
                stride *= problem_.devices;
            }
            labels[order_.nodes[k]] = static_cast<std::int32_t>(best[k][at]);
        }
        return labels;
    }

private:
    /// Of all edges between v and a node that is eliminated later.
    Table edge_table(std::uint32_t v, std::uint32_t other) const {
        Table table{{v, other}, std::vector<double>(problem_.devices * problem_.devices, 0.0)};
        for (const std::uint32_t i : edges_[v]) {
            const Edge& edge = problem_.edges[i];
            if (edge.from != other && edge.to != other) continue;
            for (std::size_t b = 0; b < problem_.devices; ++b)
                for (std::size_t a = 0; a < problem_.devices; ++a)
                    table.cost[b * problem_.devices + a] +=
                        edge.bytes * (edge.from == v ? problem_.distance(a, b) : problem_.distance(b, a));
        }
        return table;
    }

    std::uint32_t first_of(const std::vector<std::uint32_t>& nodes) const {
        return *std::min_element(nodes.begin(), nodes.end(),
                                 [&](std::uint32_t a, std::uint32_t b) { return place_[a] < place_[b]; });
    }

    /// A table waits for the first of its nodes to be eliminated.
    void add(Table table) { tables_[first_of(table.nodes)].push_back(std::move(table)); }

    /// The tables that wait for v. Tables of its edges are made now, since those of all edges need much
    /// memory.
    std::vector<Table> tables_of(std::uint32_t v) {
        std::vector<Table> tables = std::move(tables_[v]);
        std::vector<std::uint32_t> others;
        for (const std::uint32_t i : edges_[v])
            others.push_back(problem_.edges[i].from == v ? problem_.edges[i].to : problem_.edges[i].from);
        std::sort(others.begin(), others.end());
        others.erase(std::unique(others.begin(), others.end()), others.end());
        for (const std::uint32_t other : others) tables.push_back(edge_table(v, other));
        return tables;
    }

    /// The best device of v for all devices of the nodes around it, whose table is added.
    std::vector<std::uint16_t> eliminate(std::uint32_t v, const std::vector<std::uint32_t>& around,
                                         const std::function<bool()>& expired) {
        const std::vector<Table> tables = tables_of(v);
        std::vector<std::size_t> digit(around.size(), 0), base(tables.size(), 0), step(tables.size(), 0);
        std::vector<std::vector<std::size_t>> stride(tables.size(),
                                                     std::vector<std::size_t>(around.size(), 0));
        for (std::size_t t = 0; t < tables.size(); ++t) {
            std::size_t size = 1;
            for (const std::uint32_t u : tables[t].nodes) {
                if (u == v)
                    step[t] = size;
                else
                    stride[t][static_cast<std::size_t>(std::find(around.begin(), around.end(), u) -
                                                       around.begin())] = size;
                size *= problem_.devices;
            }
        }
        Table left{around, {}};
        std::vector<std::uint16_t> best;
        while (true) {
            if ((best.size() & 4095U) == 4095 && expired()) return {};
            const auto [cost, device] = least(v, tables, base, step);
            left.cost.push_back(cost);
            best.push_back(static_cast<std::uint16_t>(device));
            std::size_t d = 0;
            for (; d < around.size(); ++d) {  // the next combination
                const std::size_t back = ++digit[d] < problem_.devices ? 0 : problem_.devices;
                for (std::size_t t = 0; t < tables.size(); ++t) base[t] += stride[t][d] - back * stride[t][d];
                if (back == 0) break;
                digit[d] = 0;
            }
            if (d == around.size()) break;
        }
        if (!around.empty()) add(std::move(left));
        return best;
    }

    std::pair<double, std::uint32_t> least(std::uint32_t v, const std::vector<Table>& tables,
                                           const std::vector<std::size_t>& base,
                                           const std::vector<std::size_t>& step) const {
        const std::int32_t pin = problem_.pinned[v];
        std::pair<double, std::uint32_t> best{kInfinite, 0};
        for (std::uint32_t device = 0; device < problem_.devices; ++device) {
            if (pin >= 0 && pin != static_cast<std::int32_t>(device)) continue;
            double cost = 0;
            for (std::size_t t = 0; t < tables.size(); ++t)
                cost += tables[t].cost[base[t] + device * step[t]];
            if (cost < best.first) best = {cost, device};
        }
        return best;
    }

    const Problem& problem_;
    Order order_;
    std::vector<std::uint32_t> place_;
    std::vector<std::vector<Table>> tables_;         ///< by the node that is eliminated first
    std::vector<std::vector<std::uint32_t>> edges_;  ///< indices, the same
};

}  // namespace

bool has_no_limits(const Problem& problem) {
    if (problem.objective != Objective::kProcessMapping) return false;
    double memory = 0;
    for (const double bytes : problem.memory) memory += bytes;
    return fits(problem.total_weight(), problem.weight_limit) &&
           std::all_of(problem.capacity.begin(), problem.capacity.end(),
                       [&](double capacity) { return fits(memory, capacity); });
}

Labels least_mapping(const Problem& problem, double most_work, const std::function<bool()>& expired) {
    if (problem.devices == 1) return Labels(problem.nodes, 0);
    Order order = least_degree_order(problem, most_work, expired);
    if (order.work > most_work) return {};
    return Elimination(problem, std::move(order)).run(expired);
}

}  // namespace dse::partition
