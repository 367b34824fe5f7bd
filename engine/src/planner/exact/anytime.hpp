// The anytime search of strict plans: a beam for plans, boxes of the relaxed problem for bounds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "planner/exact/relaxed.hpp"
#include "planner/exact/search.hpp"

namespace dse::planner::exact {

struct AnytimeLimits {
    double gap = 1e-3;           ///< ends the search: the best plan above the bound, relative to the bound
    std::uint64_t boxes = 4000;  ///< ends the search too
    std::uint32_t keep = 1;
    std::function<bool()> stop;
    std::function<void(double best_ms, double bound_ms)> progress;
};

struct AnytimeResult {
    std::vector<FoundPlan> plans;  ///< cheapest first, of different sequences or micro-batches or stages
    std::vector<Box> boxes;        ///< they cover all plans below `root_ms`
    double root_ms = kInfinite;
    double bound_ms = 0;
    std::uint64_t beams = 0;
    bool stopped = false;
};

AnytimeResult search_anytime(const Problem& problem, const std::vector<std::vector<std::uint32_t>>& sequences,
                             const AnytimeLimits& limits);

}  // namespace dse::planner::exact
