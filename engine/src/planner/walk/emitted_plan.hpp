// A plan of the walk with its cost, and a table of them.
#pragma once

#include <cstdint>
#include <vector>

namespace dse::planner {

/// Cost terms of one costed stage, in ms; the last one has no link.
struct StageTerms {
    double execution_ms = 0;
    double link_ms = 0;
    double reduction_ms = 0;
    double update_ms = 0;
};

/// A plan on ranks in the order of a type sequence (by its number, in lexicographic order).
struct EmittedPlan {
    std::uint64_t index = 0;  ///< among the priced plans, in the order of emission
    std::uint32_t sequence = 0;
    std::uint32_t costed = 0;
    std::uint32_t attempt = 0;
    std::uint64_t batches = 0;
    std::uint64_t delta = 0;
    std::vector<std::uint8_t> log2_groups;
    std::vector<std::uint8_t> log2_tp;
    std::vector<std::uint32_t> bounds;  ///< c_0 … c_S
    double cost_ms = 0;
    double gap_ms = 0;               ///< of all micro-batches
    std::vector<StageTerms> stages;  ///< the costed ones
};

/// Plans as columns; those per stage have `stage_begin[i] … stage_begin[i + 1]` for plan i.
struct PlanTable {
    std::vector<std::uint64_t> index, batches, delta, stage_begin{0};
    std::vector<std::uint32_t> sequence, costed, attempt;
    std::vector<double> cost_ms, gap_ms;
    std::vector<std::uint32_t> group, tp, end;  ///< GPUs, tensor degree, and the layer after the last
    std::vector<double> execution_ms, link_ms, reduction_ms, update_ms;  ///< 0 for stages not costed

    void append(const EmittedPlan& plan);
    std::size_t size() const { return cost_ms.size(); }
};

}  // namespace dse::planner
