// The compat cost of a plan, in the order of additions that Metis has.
#pragma once

#include <span>

#include "planner/problem/problem.hpp"
#include "planner/walk/emitted_plan.hpp"
#include "planner/walk/sequence.hpp"
#include "planner/walk/stage_choices.hpp"

namespace dse::planner {

/// A stage of an outer plan, and its choices for the number of micro-batches.
struct WalkStage {
    StageRanks* ranks = nullptr;
    StageChoice* choices = nullptr;  ///< by log2 of the tensor degree
};

/// Prices a plan whose `log2_tp`, `bounds`, `costed` and `batches` are set, and sets its costs;
/// false: it has no price.
bool price(const Problem& problem, const Sequence& sequence, std::span<const WalkStage> stages,
           EmittedPlan& plan);

}  // namespace dse::planner
