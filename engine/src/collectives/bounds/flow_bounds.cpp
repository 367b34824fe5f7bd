// Newton steps over times: a flow for each sink, until no set of nodes is violated.
#include "collectives/bounds/flow_bounds.hpp"

#include <numeric>

#include "collectives/bounds/capacity.hpp"

namespace dse::synthesis {

namespace {

/// The links into a set, and how many chunks have to come over them.
Picoseconds time_of_set(const std::vector<Link>& links, const std::vector<AlikeLinks>& alike,
                        const std::vector<std::uint8_t>& inside, const Supply& supply, Picoseconds from) {
    Amount need = 0;
    for (std::size_t v = 0; v < supply.of.size(); ++v)
        if (!inside[v]) need += supply.of[v];
    std::vector<AlikeLinks> into;
    for (std::size_t l = 0; l < links.size(); ++l)
        if (!inside[links[l].from] && inside[links[l].to]) into.push_back(alike[l]);
    return earliest(into, need, from);
}

}  // namespace

Amount Supply::total() const { return std::accumulate(of.begin(), of.end(), Amount{0}); }

FlowNetwork supplied(std::uint32_t nodes, const std::vector<Link>& links, const std::vector<Amount>& capacity,
                     const Supply& supply) {
    FlowNetwork network(nodes + 1);
    for (std::size_t l = 0; l < links.size(); ++l) network.add_arc(links[l].from, links[l].to, capacity[l]);
    for (std::uint32_t v = 0; v < nodes; ++v) network.add_arc(nodes, v, supply.of[v]);
    return network;
}

Amount deliveries_by(const Link& link, Picoseconds time, Amount most) {
    return AlikeLinks{0, 0, link.arrival, link.held}.delivered(time, most);
}

std::vector<Amount> deliveries_by(const std::vector<Link>& links, Picoseconds time, Amount most) {
    std::vector<Amount> amounts;
    amounts.reserve(links.size());
    for (const Link& link : links) amounts.push_back(deliveries_by(link, time, most));
    return amounts;
}

FlowBound least_time_of_flows(std::uint32_t nodes, const std::vector<Link>& links,
                              const std::vector<Picoseconds>& first, const std::vector<Picoseconds>& last,
                              const Supply& supply, Picoseconds from, const Checkpoint& checkpoint) {
    const Amount total = supply.total();
    std::vector<AlikeLinks> alike;
    for (const Link& link : links)
        alike.push_back({first[link.from], last[link.to], link.arrival, link.held});
    FlowNetwork network = supplied(nodes, links, std::vector<Amount>(links.size(), 0), supply);
    FlowBound bound{from, 0, {}};
    const auto update = [&] {
        for (std::uint32_t l = 0; l < links.size(); ++l) {
            const bool is_used = alike[l].start < kNever / 2 && alike[l].tail < kNever / 2;
            network.set_capacity(l, is_used ? alike[l].delivered(bound.time, total) : 0);
        }
    };
    update();
    for (const std::uint32_t sink : supply.sinks) {
        while (network.flow(nodes, sink, total) < total) {
            checkpoint.look();
            bound.inside = network.sink_side(sink);
            bound.inside.resize(nodes);
            bound.sink = sink;
            bound.time = time_of_set(links, alike, bound.inside, supply, bound.time);
            if (bound.time == kNever) return bound;
            update();
        }
        checkpoint.look();
    }
    return bound;
}

}  // namespace dse::synthesis
