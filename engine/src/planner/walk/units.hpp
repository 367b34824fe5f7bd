// Units of device groups: what stays together when groups are arranged.
#pragma once

#include <cstdint>
#include <vector>

namespace dse::planner {

/// Groups that stay neighbours, in their order.
using Unit = std::vector<std::uint32_t>;

/// A composition as units of one group each, fused in pairs of equal totals until at most `limit` are left,
/// or nothing more can be fused.
std::vector<Unit> merged_units(const std::vector<std::uint32_t>& composition, std::uint64_t limit);

}  // namespace dse::planner
