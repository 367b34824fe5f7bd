#include "prediction/memory/memory.hpp"

#include <algorithm>
#include <numeric>

namespace dse::prediction {

namespace {

double& at(Bytes& bytes, Category category) { return bytes[static_cast<std::size_t>(category)]; }

double sum(const Bytes& bytes) {
    double total = 0.0;
    for (const double each : bytes) total += each;
    return total;
}

/// A stage whose memory is asked for.
struct Stage {
    const Sizes& sizes;
    const Layout& layout;
    const std::vector<std::uint32_t>& chunks;
    const std::vector<LayerBytes>& layers;  ///< by kind of the model
    std::vector<std::uint32_t> kinds;       ///< of its layers, each once
    bool repeats = false;

    Stage(const Sizes& of, const Layout& in, const std::vector<std::uint32_t>& which,
          const std::vector<LayerBytes>& by_kind)
        : sizes(of), layout(in), chunks(which), layers(by_kind) {
        for (const std::uint32_t type : chunks) {
            const Chunk& chunk = layout.types[type];
            repeats = repeats || chunk.repeated != 0;
            for (const LayerCount& layer : chunk.layers) {
                if (layer.count != 0 && std::find(kinds.begin(), kinds.end(), layer.kind) == kinds.end()) {
                    kinds.push_back(layer.kind);
                }
            }
        }
    }

    bool has_whole_stages() const {
        return sizes.plan.zero_stage == 3 && sizes.plan.pp > 1 && sizes.framework.memory.whole_stages;
    }
    double layer_count() const {
        std::int64_t count = 0;
        for (const std::uint32_t type : chunks) count += layout.types[type].count();
        return static_cast<double>(std::max<std::int64_t>(1, count));
    }
    double largest_layer() const {
        double largest = 0.0;
        for (const std::uint32_t kind : kinds) largest = std::max(largest, layers[kind].parameters);
        return largest;
    }
};

/// Weights of a matrix on this NPU, of one expert where it belongs to experts.
double matrix_weights(const Sizes& sizes, const Matrix& matrix) {
    const auto size = static_cast<double>(matrix.inputs * matrix.outputs);
    if (matrix.part == Part::kExperts) return size / sizes.expert_tp;
    if (matrix.name == MatrixName::kKey || matrix.name == MatrixName::kValue) {
        return sizes.key_width * static_cast<double>(matrix.inputs);
    }
    return matrix.is_whole ? size : size / sizes.tp;
}

/// Weights that ZeRO 3 gathers at once: those of a layer, or of a matrix where the framework says how many
/// may be alive. Two such units are, one in use and one ahead.
double gathered_unit(const Stage& stage) {
    const double layer = stage.largest_layer(), live = stage.sizes.framework.memory.live_parameters;
    if (live == 0.0) return layer;
    double largest = live / 2;
    for (const std::uint32_t kind : stage.kinds) {
        for (const Matrix& matrix : stage.sizes.model.kinds[kind].matrices)
            largest = std::max(largest, matrix_weights(stage.sizes, matrix));
    }
    return std::min(layer, largest);
}

/// Weights, gradients and states of the optimiser, as ZeRO shards them.
void add_states(const Stage& stage, const Weights& held, const Groups& groups, Bytes& found) {
    const Sizes& sizes = stage.sizes;
    const Plan& plan = sizes.plan;
    const auto ranks = static_cast<double>(groups.dp_cp.size),
               expert_ranks = static_cast<double>(groups.expert_dp.size);
    const auto stored = [&](const Weights& of, double bytes_each, std::int64_t from_stage) {
        if (plan.zero_stage < from_stage) return bytes_each * of.total();
        return bytes_each * (of.dense / ranks + of.experts / expert_ranks);
    };
    const FrameworkMemory& own = sizes.framework.memory;
    const Weights trained = held.trained();
    const double optimizer_bytes = plan.optimizer_bytes != 0.0 ? plan.optimizer_bytes : own.optimizer_bytes;
    double weights = stored(held, 2.0, 3);
    double gradients = stored(trained, static_cast<double>(sizes.framework.gradient_bytes), 2);
    const auto bits = static_cast<double>(plan.bits);
    if (own.casts_in_use) {
        weights = stored(held, 4.0, 3);
    } else if (stage.has_whole_stages()) {
        weights += 2.0 * held.total();
        gradients += 4.0 * trained.total();
    } else if (plan.zero_stage == 3) {  // two units at a time, and the tables, which stay
        double layers = 0.0;
        for (const std::uint32_t type : stage.chunks) {
            for (const LayerCount& layer : stage.layout.types[type].layers) {
                layers += static_cast<double>(layer.count) * stage.layers[layer.kind].parameters;
            }
        }
        weights += 2.0 * (2 * gathered_unit(stage) + (held.total() - layers));
    } else if (plan.bits < 16) {  // a cast along each side
        weights += held.low * 2 * bits / 8;
        if (plan.bits == 8 && own.low_precision_weights) weights -= 2.0 * held.low;
    }
    at(found, Category::kWeights) = weights;
    at(found, Category::kGradients) = gradients;
    at(found, Category::kOptimizer) = plan.offloads_optimizer ? 0.0 : stored(trained, optimizer_bytes, 1);
}

/// Weights of one matrix of each shape.
double placeholders(const Stage& stage) {
    const Sizes& sizes = stage.sizes;
    std::vector<double> shapes;  // by number
    for (const std::uint32_t kind : stage.kinds) {
        shapes.reserve(sizes.model.kinds[kind].matrices.size());
        for (const Matrix& matrix : sizes.model.kinds[kind].matrices) {
            const auto shape = static_cast<std::size_t>(matrix.shape);
            if (shape >= shapes.size()) shapes.resize(shape + 1, 0.0);
            shapes[shape] = matrix_weights(sizes, matrix);
        }
    }
    return std::accumulate(shapes.begin(), shapes.end(), 0.0);
}

/// Gradients of weights besides those that stay.
double gradient_copies(const Stage& stage) {
    const Sizes& sizes = stage.sizes;
    const FrameworkMemory& own = sizes.framework.memory;
    if (sizes.model.lora || stage.has_whole_stages() || own.casts_in_use) return 0.0;
    if (sizes.plan.zero_stage == 3) {
        return (2.0 + 2 * static_cast<double>(sizes.framework.gradient_bytes)) * gathered_unit(stage);
    }
    return own.placeholder_gradients ? 2.0 * placeholders(stage) : 0.0;
}

/// The bytes of the moment that is the peak, besides those of `stored`.
Bytes peak_moment(const Stage& stage) {
    const Sizes& sizes = stage.sizes;
    const Plan& plan = sizes.plan;
    Bytes peak{};
    bool is_first = true;
    const auto moment = [&](double activations, double communication, double workspace) {
        Bytes one{};
        at(one, Category::kActivations) = activations;
        at(one, Category::kCommunication) = communication;
        at(one, Category::kWorkspace) = workspace;
        if (is_first || sum(one) > sum(peak)) peak = one;
        is_first = false;
    };
    const FrameworkMemory& own = sizes.framework.memory;
    const double features = 2 * sizes.tokens * sizes.d_model;
    const double gathered = sizes.residual_share < 1 ? 2 * features : 0.0;
    // Weights in 16 bit, and the gradients of those that are trained.
    const double cast = own.casts_in_use ? 2.0 : 0.0, made = sizes.model.lora ? cast : 2 * cast;
    for (const std::uint32_t kind : stage.kinds) {
        const LayerBytes& layer = stage.layers[kind];
        double repeated = 0.0;
        if (stage.repeats) {
            repeated = plan.recompute == Recompute::kFull ? layer.kept : layer.kept - layer.kept_recomputed;
        }
        moment(repeated, gathered, layer.backward + made * layer.parameters);
    }
    bool has_head = false;
    for (const std::uint32_t type : stage.chunks) has_head = has_head || stage.layout.types[type].has_head;
    if (!has_head) return peak;
    const Model& model = sizes.model;
    const auto heads = static_cast<double>(1 + model.prediction_layers),
               output = static_cast<double>(model.output_dim);
    const double logits = sizes.tokens * output / sizes.tp;
    const double ends = heads * (2 + static_cast<double>(plan.bits) / 8) * sizes.tokens * sizes.d_model *
                        sizes.residual_share;
    const double others = 4 * (heads - 1) * logits;
    const double each = plan.tp > 1 && own.split_logit_bytes != 0.0 ? own.split_logit_bytes : own.logit_bytes;
    const double table = output * sizes.d_model / sizes.tp, gradient = model.lora ? 0.0 : 2 * table;
    moment(ends + others + each * logits, gathered / 2, cast * table);
    moment(ends + others + 2 * logits, gathered, gradient + cast * table + features * sizes.residual_share);
    return peak;
}

/// Bytes that the layers of a stage keep of the micro-batches in flight.
double stored_bytes(const Stage& stage, double in_flight) {
    double stored = 0.0;
    for (const std::uint32_t type : stage.chunks) {
        const Chunk& chunk = stage.layout.types[type];
        for (const LayerCount& layer : chunk.layers) {
            const LayerBytes& of = stage.layers[layer.kind];
            const double share = static_cast<double>(chunk.repeated) / static_cast<double>(chunk.count());
            stored += static_cast<double>(layer.count) * (of.kept + share * (of.kept_recomputed - of.kept));
        }
    }
    const double total = stored / static_cast<double>(stage.chunks.size()) * in_flight;
    const std::int64_t offloaded = stage.sizes.plan.offloaded_layers;
    if (offloaded == 0) return total;
    const double layers = stage.layer_count(), away = std::min(1.0, static_cast<double>(offloaded) / layers);
    return std::min(total, (1 - away) * total + 2 * stored / layers);
}

}  // namespace

StageMemory::StageMemory(const Sizes& sizes, const Layout& layout, const Groups& groups)
    : sizes_(sizes), layout_(layout), groups_(groups) {
    const bool recomputes = sizes.plan.recompute != Recompute::kNone;
    for (const LayerKind& kind : sizes.model.kinds) {
        const double kept = kept_bytes(sizes, kind, false);
        layers_.push_back({kept, recomputes ? kept_bytes(sizes, kind, true) : kept,
                           backward_bytes(sizes, kind), layer_weights(sizes, kind).total()});
    }
}

Bytes StageMemory::of(const std::vector<std::uint32_t>& chunks, const Weights& held, double in_flight) const {
    const Sizes& sizes = sizes_;
    const Stage stage(sizes, layout_, chunks, layers_);
    Bytes found = peak_moment(stage);
    add_states(stage, held, groups_, found);
    // Where exchanges hide behind another micro-batch, one layer of it is computed before one is released.
    const double early =
        sizes.plan.overlap_ep ? static_cast<double>(chunks.size()) / stage.layer_count() : 0.0;
    at(found, Category::kActivations) += stored_bytes(stage, in_flight + early);
    at(found, Category::kWorkspace) += gradient_copies(stage);
    const FrameworkMemory& own = sizes.framework.memory;
    const double grouped = sizes.model.experts ? own.grouped_workspace_bytes : 0.0;
    at(found, Category::kReserve) = own.workspace_bytes + grouped + own.allocator_slack * sum(found);
    return found;
}

}  // namespace dse::prediction
