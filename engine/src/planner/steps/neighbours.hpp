// Plans that differ from another in one place: its layers, a stage, the order of stages, or its rounds.
#pragma once

#include <vector>

#include "planner/steps/options.hpp"

namespace dse::planner::steps {

/// Makes the plans to which one may be changed.
class Neighbours {
public:
    explicit Neighbours(const Question& question);

    /// Each plan that has a layer in another stage.
    std::vector<MixedPlan> of_layers(const MixedPlan& plan) const;
    /// Plans with a stage more or fewer, of other GPUs, mode or place, or with other rounds: layers of such a
    /// plan are to be moved before it is judged. None where all stages are alike.
    std::vector<MixedPlan> of_stages(const MixedPlan& plan) const;

private:
    std::int64_t gpus(const StageChoice& stage) const;
    bool has_size(std::uint32_t type, std::int64_t gpus) const;
    /// Adds the plan with these stages in place of `count` from `first`, where their GPUs suffice.
    void add(const MixedPlan& plan, std::size_t first, std::size_t count,
             const std::vector<StageChoice>& stages, std::vector<MixedPlan>& found) const;
    void add_joined(const MixedPlan& plan, std::vector<MixedPlan>& found) const;
    void add_split(const MixedPlan& plan, std::vector<MixedPlan>& found) const;
    void add_resized(const MixedPlan& plan, std::vector<MixedPlan>& found) const;
    void add_swapped(const MixedPlan& plan, std::vector<MixedPlan>& found) const;
    void add_modes(const MixedPlan& plan, std::vector<MixedPlan>& found) const;
    void add_rounds(const MixedPlan& plan, std::vector<MixedPlan>& found) const;

    const Question& question_;
    std::vector<std::vector<std::int64_t>> sizes_;  // of stages, by type
    std::vector<Rounds> rounds_;
};

}  // namespace dse::planner::steps
