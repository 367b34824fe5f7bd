// Orders of the nodes of a network in which neighbours are near each other.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

struct NodeOrder {
    std::vector<std::uint32_t> nodes;  ///< by rank
    std::uint32_t reach = 0;           ///< most ranks between the ends of a link
};

/// As nodes are numbered, or by their distance from a far one (Cuthill and McKee's order), whichever has the
/// smaller reach.
NodeOrder order_near_neighbours(std::uint32_t nodes, const std::vector<Link>& links);

}  // namespace dse::synthesis
