// The label search over the suffixes of one block.
#pragma once

#include "planner/exact/best_plans.hpp"
#include "planner/exact/bounds.hpp"
#include "planner/exact/search.hpp"
#include "planner/exact/stages.hpp"
#include "planner/problem/problem.hpp"

namespace dse::planner::exact {

/// Adds the plans of a block that are worth it, and counts its labels; `before` has been turned. Returns
/// whether the block was searched to the end.
bool search_block(const Problem& problem, CostModel model, StageOptions& options, const PrefixBounds& before,
                  Block& block, BestPlans& best, const Limits& limits);

}  // namespace dse::planner::exact
