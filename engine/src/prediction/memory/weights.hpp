// Layers of pipeline stages, and the parameters that one NPU holds of them.
#pragma once

#include <utility>
#include <vector>

#include "prediction/kernels/sizes.hpp"

namespace dse::prediction {

/// Layers of one kind; `kind` is an index of the model's kinds.
struct LayerCount {
    std::uint32_t kind = 0;
    std::int64_t count = 0;

    bool operator==(const LayerCount&) const = default;
};

/// The part of the model that a stage runs without handing over; `repeated` of its layers are recomputed.
struct Chunk {
    std::vector<LayerCount> layers;
    bool has_embedding = false, has_head = false;
    std::int64_t repeated = 0;

    std::int64_t count() const {
        std::int64_t sum = 0;
        for (const LayerCount& layer : layers) sum += layer.count;
        return sum;
    }
    bool operator==(const Chunk&) const = default;
};

/// The layers of a model from `first` up to, not including, `end`; the first part has the embedding, the last
/// the head.
Chunk chunk_of(const Model& model, std::int64_t first, std::int64_t end, bool is_first, bool is_last);

/// Chunks of each stage. Equal stages and chunks have the same number in `stage_types` and `types`.
struct Layout {
    std::vector<std::vector<std::uint32_t>> stages;  ///< the type of each chunk
    std::vector<Chunk> types;
    std::vector<std::uint32_t> stage_types;                   ///< of each stage
    std::vector<std::vector<std::uint32_t>> distinct_stages;  ///< chunks of each type of stage
};

/// Layers of each part of the pipeline: those that are listed, or else by the plan's rule. Throws Infeasible.
std::vector<std::int64_t> part_layers(const Model& model, const Plan& plan,
                                      const std::vector<std::int64_t>& listed);

/// Lays so many layers out for each part; throws Infeasible. `is_v_shaped`: the second chunk of stages goes
/// backwards.
Layout layout_of(const Model& model, const Plan& plan, const std::vector<std::int64_t>& counts,
                 bool is_v_shaped);

/// Layers of each part of the pipeline by a rule.
std::vector<std::int64_t> stage_layers(std::int64_t layers, const Plan& plan, StageRule rule);

/// Parameters of one NPU: dense ones, and those of experts; `low` of them are in low-precision products.
struct Weights {
    double dense = 0.0, experts = 0.0, low = 0.0, frozen_dense = 0.0, frozen_experts = 0.0;

    double total() const { return dense + experts; }
    Weights trained() const { return {dense - frozen_dense, experts - frozen_experts}; }
    Weights frozen() const { return {dense, experts, low, dense, experts}; }
    void add(const Weights& other, double times = 1.0) {
        dense += times * other.dense;
        experts += times * other.experts;
        low += times * other.low;
        frozen_dense += times * other.frozen_dense;
        frozen_experts += times * other.frozen_experts;
    }
};

Weights layer_weights(const Sizes& sizes, const LayerKind& kind);

/// Parameters of each chunk of a stage; tables that they share count with the first of them.
std::vector<Weights> stage_weights(const Sizes& sizes, const Layout& layout,
                                   const std::vector<std::uint32_t>& chunks);

}  // namespace dse::prediction
