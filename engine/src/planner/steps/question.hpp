// Pipelines whose stages may differ, priced by the model of a step: what is asked, and what a plan is.
#pragma once

#include <cstdint>
#include <vector>

#include "prediction/steps/predict.hpp"

namespace dse::planner::steps {

namespace step = dse::prediction;

/// GPUs of one type in equal nodes.
struct GpuType {
    const step::Cluster* cluster = nullptr;
    std::int64_t gpus = 0, node_gpus = 1;
    double memory_bytes = 0.0;  ///< that a plan may take of a GPU
};

/// `modes` are the ways to run a layer on each type: plans of which degrees, recomputation and ZeRO count.
/// Where `kinds` number these modes, all stages of a plan have one kind and as many GPUs.
struct Question {
    const step::Model* model = nullptr;
    const step::Setting* setting = nullptr;
    std::vector<GpuType> types;
    std::vector<std::vector<step::Plan>> modes;
    std::vector<std::vector<std::uint32_t>> kinds;
    std::vector<double> between_gbps;  ///< types x types: of one GPU; 0: that of its node
    std::int64_t most_micro_batch = 0;

    std::int64_t layers() const {
        std::int64_t count = 0;
        for (const step::Run& run : model->runs) {
            if (!model->kinds[run.kind].is_prediction) count += run.count;
        }
        return count;
    }
    double gpu_gbps(std::uint32_t one, std::uint32_t other) const {
        return between_gbps[one * types.size() + other];
    }
};

/// A stage: `dp` replicas of tp x cp GPUs of a type, each with `layers` of the model.
struct StageChoice {
    std::uint32_t type = 0, mode = 0;
    std::int64_t dp = 1, layers = 0;

    bool operator==(const StageChoice&) const = default;
};

/// Rounds of micro-batches: all replicas together take `sequences` in each; of the last round some may take
/// none.
struct Rounds {
    std::int64_t count = 1, sequences = 1;

    auto operator<=>(const Rounds&) const = default;
};

/// Plans whose stages have so many GPUs, and each type one mode (-1: it has no such stage); with 0 GPUs, all
/// plans.
struct Family {
    std::int64_t gpus = 0;
    std::vector<std::int32_t> modes{};
};

/// One-forward-one-backward over stages, the first first.
struct MixedPlan {
    Rounds rounds;
    std::vector<StageChoice> stages;

    bool operator==(const MixedPlan&) const = default;
};

}  // namespace dse::planner::steps
