// Shifting capacity from stages that are short of memory to those that have some to spare.
#pragma once

#include <span>
#include <vector>

namespace dse::planner {

/// Changes the performance vector to one for another partition; false: there is none.
///
/// Throws InputError where the rule never ends: no stage has room left, and more is needed.
bool rebalance(std::span<double> performance, std::span<const double> capacity_mb,
               std::span<const double> demand_mb);

}  // namespace dse::planner
