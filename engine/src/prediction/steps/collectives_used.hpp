// The collectives of the groups of a plan, with their bytes, and how long one takes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "prediction/steps/step.hpp"

namespace dse::prediction {

/// A collective of the groups of an axis: `size_bytes` over `ranks`, `seconds` where nothing hides it.
struct GroupCollective {
    std::string_view axis;
    std::int64_t ranks = 1;
    std::string_view collective;
    double size_bytes = 0.0;
    Algorithm algorithm = Algorithm::kAuto;
    double seconds = 0.0;
};

/// Returns collectives of tensor parallelism, and of gradients and sharded weights (of stages the largest).
/// The step is timed.
std::vector<GroupCollective> collectives_used(Step& step);

}  // namespace dse::prediction
