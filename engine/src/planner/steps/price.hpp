// The step of a mixed pipeline: its stages by the model of a step, and one recurrence over all.
#pragma once

#include <optional>

#include "planner/steps/way.hpp"

namespace dse::planner::steps {

struct Price {
    double step_s = 0.0;
    double pipeline_s = 0.0, messages_s = 0.0, dp_s = 0.0, optimizer_s = 0.0;  ///< its parts
    std::vector<StagePrice> stages;
};

/// None where a stage cannot run or does not fit its GPUs.
std::optional<Price> price(const Question& question, Ways& ways, const MixedPlan& plan);

}  // namespace dse::planner::steps
