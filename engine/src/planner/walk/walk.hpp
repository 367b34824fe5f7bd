// Metis's search: a walk over strategies inside every outer plan, as the paper's program does it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/cancellation.hpp"
#include "planner/problem/problem.hpp"
#include "planner/walk/emitted_plan.hpp"

namespace dse::planner {

struct WalkOptions {
    bool by_first_attempt = false;  ///< the fork's way: the next step follows the memory before rebalancing
    bool keep_all = false;          ///< every priced plan, in the order of emission
    std::uint32_t keep_best = 10;   ///< unless all are kept: the cheapest, in the order of their costs
};

struct WalkResult {
    std::uint64_t count = 0;  ///< steps and failed attempts up to the last plan of each outer plan
    std::uint64_t outer_plans = 0;
    std::uint64_t plans = 0;  ///< priced
    std::uint64_t unpriced = 0;
    std::vector<std::vector<std::uint32_t>> sequences;  ///< types by number
    PlanTable table;
};

/// Walks every outer plan; the best plan is the first of least cost.
///
/// Throws InputError for a cluster that the walk cannot start with, and for a missing profile; Cancelled or
/// DeadlinePassed by the checkpoint.
WalkResult walk(const Problem& problem, const WalkOptions& options, const Checkpoint& checkpoint);

}  // namespace dse::planner
