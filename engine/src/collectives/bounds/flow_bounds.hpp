// Bounds from all sets of nodes together: maximum flows of chunks, and the set that is violated first.
#pragma once

#include <cstdint>
#include <vector>

#include "base/cancellation.hpp"
#include "collectives/bounds/max_flow.hpp"
#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

/// Chunks that each node has at first, and the nodes that are to get all of them.
struct Supply {
    std::vector<Amount> of;  ///< per node
    std::vector<std::uint32_t> sinks;
    Amount total() const;
};

/// A network of links, and after them an arc per node from a source, which has the last number.
FlowNetwork supplied(std::uint32_t nodes, const std::vector<Link>& links, const std::vector<Amount>& capacity,
                     const Supply& supply);

/// How many chunks a link can have delivered by `time`, at most `most`, if it may start at once.
Amount deliveries_by(const Link& link, Picoseconds time, Amount most);
std::vector<Amount> deliveries_by(const std::vector<Link>& links, Picoseconds time, Amount most);

struct FlowBound {
    Picoseconds time = 0;
    std::uint32_t sink = 0;            ///< for whose flow it was found
    std::vector<std::uint8_t> inside;  ///< per node: the set that decides; empty if `from` is enough
};

/// The least time from `from` on by which the links can deliver the whole supply to each sink, as flows:
/// equal to the largest of the times that sets of nodes take. A link carries nothing before
/// `first` of its sender, and what it brings has to be there `last` of its receiver before the end. Steps of
/// Newton: the set that is violated at a time gives the next time.
///
/// The time is kNever if there is no way.
FlowBound least_time_of_flows(std::uint32_t nodes, const std::vector<Link>& links,
                              const std::vector<Picoseconds>& first, const std::vector<Picoseconds>& last,
                              const Supply& supply, Picoseconds from, const Checkpoint& checkpoint);

}  // namespace dse::synthesis
