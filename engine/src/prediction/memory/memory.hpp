// Peak memory of one NPU of a stage, by category, in bytes.
#pragma once

#include <array>
#include <vector>

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

/// Bytes of a layer of one kind: those it keeps, those of its backward pass, and its parameters.
struct LayerBytes {
    double kept = 0.0, kept_recomputed = 0.0, backward = 0.0, parameters = 0.0;
};

/// The stages of a plan; each kind of layer is looked at once. Keeps references to its arguments.
class StageMemory {
public:
    StageMemory(const Sizes& sizes, const Layout& layout, const Groups& groups);

    /// A stage with its weights and so many micro-batches of a chunk each.
    Bytes of(const std::vector<std::uint32_t>& chunks, const Weights& held, double in_flight) const;

private:
    const Sizes& sizes_;
    const Layout& layout_;
    const Groups& groups_;
    std::vector<LayerBytes> layers_;  // by kind of the model
};

}  // namespace dse::prediction
