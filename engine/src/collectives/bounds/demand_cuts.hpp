// The cut that takes longest where every chunk goes from one node to one other: among all sets of nodes, or
// few.
#pragma once

#include <cstdint>
#include <vector>

#include "base/cancellation.hpp"
#include "collectives/bounds/capacity.hpp"
#include "collectives/bounds/max_flow.hpp"
#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

/// Of so few nodes every set is looked at: 2^20 sets take about 50 ms.
inline constexpr std::uint32_t kMostNodesOfAllCuts = 20;

/// Links with what they have to wait for: `start` is that of their sender, `tail` that of their receiver.
struct DemandLinks {
    std::uint32_t nodes = 0;
    std::vector<std::uint32_t> from, to;
    std::vector<AlikeLinks> times;
};

struct DemandCut {
    Picoseconds time = 0;
    std::vector<std::uint8_t> inside;  ///< per node: the set that decides; empty if no set takes longer
};

/// The set of nodes whose links in take longest to let in what goes there from outside, if it takes longer
/// than `from`. `demand` has the chunks from node u to v at [u * nodes + v]. With more nodes than
/// kMostNodesOfAllCuts it is the longest of those sets that single nodes in or out make worse than `starts`.
/// Steps of Newton: a set that is violated at a time gives the next time.
DemandCut longest_demand_cut(const DemandLinks& links, const std::vector<Amount>& demand,
                             const std::vector<std::vector<std::uint8_t>>& starts, Picoseconds from,
                             const Checkpoint& checkpoint);

}  // namespace dse::synthesis
