// The best plans of a search, and what is still worth a label.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "planner/exact/search.hpp"

namespace dse::planner::exact {

/// Adds a plan to plans in order of their cost, one per type sequence, number of stages and number of
/// micro-batches; whether it is better than the one that was there.
inline bool insert_plan(std::vector<FoundPlan>& plans, FoundPlan plan) {
    const auto same = std::find_if(plans.begin(), plans.end(), [&](const FoundPlan& other) {
        return other.batches == plan.batches && other.stages.size() == plan.stages.size() &&
               other.sequence == plan.sequence;
    });
    if (same != plans.end()) {
        if (same->cost_ms <= plan.cost_ms) return false;
        plans.erase(same);
    }
    const auto after =
        std::upper_bound(plans.begin(), plans.end(), plan.cost_ms,
                         [](double cost_ms, const FoundPlan& other) { return cost_ms < other.cost_ms; });
    plans.insert(after, std::move(plan));
    return true;
}

/// The best plans, one per type sequence, number of stages and number of micro-batches.
class BestPlans {
public:
    explicit BestPlans(const Limits& limits) : limits_(&limits) {}

    /// Nothing at or above it is worth a label.
    double threshold_ms() const {
        if (plans_.empty()) return kInfinite;
        const double best = plans_.front().cost_ms;  // negative where gaps are
        double threshold = best < 0 ? best * (1.0 - limits_->within) : best * (1.0 + limits_->within);
        if (limits_->within > 0 && plans_.size() >= limits_->keep)
            threshold = std::min(threshold, plans_[limits_->keep - 1].cost_ms);
        return threshold;
    }
    bool wanted(double cost_ms) const { return cost_ms < threshold_ms(); }

    void add(FoundPlan plan) { insert_plan(plans_, std::move(plan)); }

    std::vector<FoundPlan> take() {
        if (plans_.size() > limits_->keep) plans_.resize(limits_->keep);
        return std::move(plans_);
    }
    double best_ms() const { return plans_.empty() ? kInfinite : plans_.front().cost_ms; }

private:
    const Limits* limits_;
    std::vector<FoundPlan> plans_;
};

}  // namespace dse::planner::exact
