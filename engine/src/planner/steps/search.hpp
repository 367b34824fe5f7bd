// The search of mixed pipelines: bounds of all of them by dynamic programs, then the plans below these.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/steps/price.hpp"

namespace dse::planner::steps {

struct Limits {
    double incumbent_s = step::kInfinite;  ///< the step of a plan that is known
    double gap = 0.0;                      ///< the share above the bound at which a search may end
    std::uint64_t nodes = 0;               ///< of the enumeration below the bound
    std::size_t keep = 1;
    std::function<bool()> stop = [] { return false; };
};

struct FoundPlan {
    double step_s = 0.0;
    MixedPlan plan;
};

struct SearchResult {
    std::vector<FoundPlan> plans;  ///< the fastest first, one for each list of types and micro-batches
    double bound_s = 0.0;          ///< no plan of the space is faster
    bool complete = false;         ///< whether the first plan, or the incumbent, is proven the fastest
    std::uint64_t priced = 0, labels = 0;
};

SearchResult search(const Question& question, const Limits& limits);

/// Every plan of the space, for tests.
void for_each_plan(const Question& question, const std::function<void(const MixedPlan&)>& visit);

}  // namespace dse::planner::steps
