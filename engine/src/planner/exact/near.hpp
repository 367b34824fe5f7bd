// The neighbourhood of a plan: its longest stage time, and groups that are like its own.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "planner/exact/search.hpp"
#include "planner/exact/stages.hpp"

namespace dse::planner::exact {

/// The longest stage time of a plan, and its largest update and reduction, in ms.
std::pair<double, double> longest_of(const Problem& problem, const FoundPlan& plan, StageOptions& options);

/// (first rank, GPUs): groups of a plan, their parts down to a quarter, and those of twice and four times
/// their GPUs around them.
std::set<std::pair<std::uint32_t, std::uint32_t>> groups_near(const FoundPlan& plan);

}  // namespace dse::planner::exact
