// The walk inside one outer plan: from pure data parallelism on, a stage's tensor degree doubles at a step.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "planner/walk/compat_cost.hpp"
#include "planner/walk/layer_partitioner.hpp"
#include "planner/walk/stage_choices.hpp"

namespace dse::planner {

/// Walks outer plans one after the other; its buffers are kept from one to the next.
class StrategyWalk {
public:
    /// Called for each plan found: degrees, bounds and attempt; and the count since the last one.
    struct Found {
        std::span<const std::uint8_t> log2_tp;
        std::span<const std::uint32_t> bounds;
        std::uint32_t attempt = 0;
        std::uint64_t delta = 0;
    };
    using TakeFound = std::function<void(const Found&)>;

    StrategyWalk(const std::vector<double>& weights, bool by_first_attempt)
        : partitioner_(weights), by_first_attempt_(by_first_attempt) {}

    /// Walks, and returns the count up to the last plan found. `checkpoint` is called at each step.
    std::uint64_t run(ChoiceTable& table, std::span<const WalkStage> stages, std::uint64_t batches,
                      const std::function<void()>& checkpoint, const TakeFound& take);

private:
    StageChoice& choice(std::size_t i) { return stages_[i].choices[log2_tp_[i]]; }
    bool step();
    bool valid() const;
    std::uint32_t evaluate();
    void measure_performance();
    bool fits();
    std::size_t next_stage() const;

    LayerPartitioner partitioner_;
    bool by_first_attempt_;
    ChoiceTable* table_ = nullptr;
    std::span<const WalkStage> stages_;
    std::uint64_t batches_ = 0;
    std::uint64_t counted_ = 0;  // since the last plan
    std::vector<std::uint8_t> log2_tp_;
    std::vector<double> shares_;  // performance vector of the attempt
    std::vector<double> capacity_mb_, demand_mb_;
    std::vector<double> state_mb_;  // of the attempt
    std::vector<double> first_mb_;  // of the first attempt, where that failed; else empty
    std::vector<double> last_mb_;   // of the last evaluation, where that succeeded; else empty
    std::vector<std::uint32_t> bounds_;
};

}  // namespace dse::planner
