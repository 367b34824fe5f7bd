// Boxes of the relaxed problem that cover all plans below some cost, split where the bound is lowest.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "planner/exact/anytime.hpp"
#include "planner/exact/layer_tables.hpp"
#include "planner/exact/ranks.hpp"
#include "planner/exact/relaxed.hpp"

namespace dse::planner::exact {

/// The plans that a search has found, and when it is to end.
struct Incumbents {
    const AnytimeLimits* limits = nullptr;
    std::vector<FoundPlan> plans;  ///< cheapest first

    bool stopped() const { return limits->stop && limits->stop(); }
    double best_ms() const { return plans.empty() ? kInfinite : plans.front().cost_ms; }
    /// A bound that high ends the search. Costs are negative where gaps are.
    double goal_ms() const {
        return best_ms() < 0 ? best_ms() * (1 + limits->gap) : best_ms() / (1 + limits->gap);
    }
};

class Boxes {
public:
    Boxes(const Problem& problem, const std::vector<std::unique_ptr<Ranks>>& ranks,
          const std::vector<std::uint64_t>& batches, LayerTables& tables, const Incumbents& incumbents)
        : problem_(&problem),
          ranks_(&ranks),
          batches_(&batches),
          tables_(&tables),
          incumbents_(&incumbents) {}

    /// A box per number of micro-batches, for the plans below the best one known.
    void make_roots();
    /// Until the lowest box is narrower than `least`, relative to the best plan, or there are `most`.
    void split(std::uint64_t most, double least);
    /// Raises the bound of a box that need not be one of these.
    void raise(Box& box);
    Completion completion(const Box& box) { return relaxed_of(box.batches).completion(box); }
    /// The lowest box of each number of micro-batches that may have a plan below the goal, the lowest first.
    std::vector<Box> lowest() const;
    /// Bands of the longest stage time that may have better plans than the best, the most promising first.
    std::vector<Box> bands_of(const Box& target);

    bool closed() const { return bound_ms() >= incumbents_->goal_ms(); }
    double bound_ms() const {
        return boxes_.empty() ? 0.0 : std::min(incumbents_->best_ms(), boxes_.front().bound_ms);
    }
    double root_ms() const { return root_ms_; }
    std::size_t size() const { return boxes_.size(); }
    std::vector<Box> take() { return std::move(boxes_); }
    void report() const {
        const auto& progress = incumbents_->limits->progress;
        if (progress) progress(incumbents_->best_ms(), bound_ms());
    }

private:
    void push(Box box);
    RelaxedStages& relaxed_of(std::uint64_t batches);

    const Problem* problem_;
    const std::vector<std::unique_ptr<Ranks>>* ranks_;
    const std::vector<std::uint64_t>* batches_;
    LayerTables* tables_;
    const Incumbents* incumbents_;
    std::vector<std::unique_ptr<RelaxedStages>> relaxed_;  ///< by number of micro-batches
    std::vector<double> scratch_;                          ///< of the relaxed stages
    std::vector<Box> boxes_;                               ///< a heap, the lowest bound first
    double root_ms_ = kInfinite;
};

}  // namespace dse::planner::exact
