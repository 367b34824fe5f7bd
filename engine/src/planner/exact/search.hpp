// The exact search: a dynamic program over suffixes of plans with Pareto labels and lower bounds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "planner/exact/ranks.hpp"
#include "planner/exact/stages.hpp"
#include "planner/problem/problem.hpp"

namespace dse::planner::exact {

struct PlanStage {
    std::uint32_t gpus = 0;
    std::uint32_t tp = 0;
    std::uint32_t end = 0;  ///< first layer after it
};

/// A plan as the search adds it up; its cost differs from the pricing rule's by rounding only.
struct FoundPlan {
    double cost_ms = kInfinite;
    std::vector<std::uint32_t> sequence;
    std::uint64_t batches = 0;
    std::vector<PlanStage> stages;
};

/// How a block ended.
enum class Outcome : std::uint8_t { open, empty, pruned, searched };

/// Plans of one type sequence, one number of micro-batches, and the stage counts that share a least group.
struct Block {
    std::vector<std::uint32_t> sequence;
    std::uint64_t batches = 0;
    std::uint32_t least_group = 0;
    std::vector<std::uint32_t> stages;  ///< numbers of stages, ascending
    double bound_ms = 0;                ///< proven before any label: none of its plans is below
    Outcome outcome = Outcome::open;
    std::uint64_t labels = 0;
    std::uint64_t dominated = 0;
    std::uint64_t cut = 0;  ///< labels that could not complete below the threshold
};

struct Limits {
    std::uint64_t labels = 4'000'000;  ///< most labels of a block that may be kept
    /// Plans to be kept: the best of each (sequence, stages, micro-batches), found below the threshold
    std::uint32_t keep = 1;
    double within = 0;  ///< searches on for plans up to (1 + within) times the best
    std::function<bool()> stop;
};

struct SearchResult {
    std::vector<Block> blocks;
    std::vector<FoundPlan> plans;  ///< cheapest first
    double bound_ms = kInfinite;   ///< nothing in the space is below; infinite: nothing fits
    bool complete = true;
};

/// Searches the space of a cost model; `sequences` are positions in the type order.
SearchResult search(const Problem& problem, CostModel model,
                    const std::vector<std::vector<std::uint32_t>>& sequences, const Limits& limits);

}  // namespace dse::planner::exact
