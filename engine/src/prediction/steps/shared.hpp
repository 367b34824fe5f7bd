// Results that the plans of a batch share: many plans differ in axes on which these do not depend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/memo.hpp"
#include "prediction/links/links.hpp"
#include "prediction/memory/weights.hpp"
#include "prediction/pipeline/recurrence.hpp"

namespace dse::prediction {

/// The pipeline of a step in the times of its chunks, by stage, or by stage x chunk.
struct Pipeline {
    std::vector<StageTimes> chunks;
    std::vector<double> busy_s;           ///< of all passes of each stage
    std::vector<std::int64_t> in_flight;  ///< the most activations that each stage holds
    PipelineTimes times;
};

/// Each is made once, for the models and clusters of one batch, and for one thread.
struct Shared {
    Memo<std::vector<std::int64_t>> balanced;  ///< layers of each part of the pipeline
    Memo<Layout> layouts;
    Memo<Links> links;
    Memo<Pipeline> pipelines;

    std::size_t size() const { return balanced.size() + layouts.size() + links.size() + pipelines.size(); }
};

}  // namespace dse::prediction
