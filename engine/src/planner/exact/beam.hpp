// A beam over suffixes of strict plans: good plans of spaces that are too large for labels.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "planner/exact/relaxed.hpp"
#include "planner/exact/search.hpp"
#include "planner/exact/stages.hpp"

namespace dse::planner::exact {

struct BeamLimits {
    std::uint32_t width = 1;  ///< suffixes kept per first rank and layer
    std::uint32_t unit = 1;   ///< groups are at least that large
    double period_ms = 0;     ///< a longest stage time below it is not worth anything
    double tail_ms = 0;       ///< the same of the largest update and reduction
    double incumbent_ms = kInfinite;
    std::function<bool()> stop;
    const std::set<std::pair<std::uint32_t, std::uint32_t>>* groups = nullptr;  ///< (start, GPUs): no others
    const Completion* completion = nullptr;  ///< counts what is missing, and where memory ends
    const Ranks* ranks = nullptr;            ///< with it
    std::vector<double> owed_ms;             ///< with it: the price of the GPUs before a rank, by rank / unit
    double least_period_ms = 0;  ///< with it: plans whose longest stage time is below are not sought
};

/// The best plan that the beam meets below the incumbent; its cost is infinite where there is none.
FoundPlan beam(const Problem& problem, StageOptions& options, const std::vector<std::uint32_t>& sequence,
               const BeamLimits& limits);

}  // namespace dse::planner::exact
