// Peak memory of one NPU of a stage, by category, in bytes.
#pragma once

#include <array>

#include "prediction/links/placement.hpp"
#include "prediction/memory/weights.hpp"

namespace dse::prediction {

enum class Category : std::uint8_t {
    kWeights,
    kGradients,
    kOptimizer,
    kActivations,
    kCommunication,
    kWorkspace,
    kReserve
};
inline constexpr std::size_t kCategories = 7;
using Bytes = std::array<double, kCategories>;

/// Bytes that a layer keeps for its backward pass.
double kept_bytes(const Sizes& sizes, const LayerKind& kind, bool is_recomputed);
/// Gradients that are alive at once in the backward pass of a layer.
double backward_bytes(const Sizes& sizes, const LayerKind& kind);

/// A stage with its weights and so many micro-batches of a chunk each.
Bytes stage_bytes(const Sizes& sizes, const Layout& layout, const std::vector<std::uint32_t>& chunks,
                  const Weights& held, double in_flight, const Groups& groups);

}  // namespace dse::prediction
