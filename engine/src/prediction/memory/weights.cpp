#include "prediction/memory/weights.hpp"

namespace dse::prediction {

Weights layer_weights(const Sizes& sizes, const LayerKind& kind) {
    const double tp = sizes.tp, expert_ranks = sizes.ep * sizes.expert_tp;
    double dense = kind.vectors / tp, experts = 0.0, copied = kind.norms;
    for (const Matrix& matrix : kind.matrices) {
        if (matrix.part == Part::kExperts) {
            experts += (matrix.weights() + matrix.biases()) / expert_ranks;
        } else if (matrix.part == Part::kRouter) {
            copied += matrix.weights() + matrix.biases();
        } else if (matrix.is_whole) {
            dense += matrix.weights() + matrix.biases();
        } else if (matrix.name == MatrixName::kKey || matrix.name == MatrixName::kValue) {
            dense += sizes.key_width * static_cast<double>(matrix.inputs + matrix.has_bias);
        } else {
            dense += matrix.weights() / tp + matrix.biases() / (matrix.is_row_split ? 1.0 : tp);
        }
    }
    Weights found{dense + copied, experts, dense + experts};
    if (!sizes.model.lora) return found;
    found = found.frozen();
    Weights adapters;
    for (const AdapterMatrix& matrix : kind.adapters) {
        if (matrix.is_of_experts) {
            adapters.experts += matrix.weights / expert_ranks;
        } else {
            adapters.dense += matrix.weights / (matrix.is_split ? tp : 1.0);
        }
    }
    found.add(adapters);
    return found;
}

std::vector<Weights> stage_weights(const Sizes& sizes, const Layout& layout,
                                   const std::vector<std::uint32_t>& chunks) {
    const Model& model = sizes.model;
    const double input = static_cast<double>(model.input_dim * model.d_model);
    const double output = static_cast<double>(model.output_dim * model.d_model);
    bool has_input = false, has_output = false;
    std::vector<Weights> found;
    for (const std::uint32_t type : chunks) {
        const Chunk& chunk = layout.types[type];
        Weights own;
        if (chunk.has_embedding) own.dense += model.position_parameters;
        if (chunk.has_head) own.dense += model.final_norm_parameters;
        if (model.lora) own = own.frozen();
        for (const LayerCount& layer : chunk.layers) {
            own.add(layer_weights(sizes, model.kinds[layer.kind]), static_cast<double>(layer.count));
        }
        bool needs_input = chunk.has_embedding || (chunk.has_head && model.prediction_layers != 0);
        bool needs_output = chunk.has_head;
        if (model.tied_embeddings && needs_output) {
            needs_input = true;
            needs_output = false;
        }
        double tables = 0.0;
        if (needs_input && !has_input) tables += input;
        if (needs_output && !has_output) tables += output;
        Weights shared{tables / sizes.tp, 0.0};
        if (model.lora) shared = shared.frozen();
        own.add(shared);
        found.push_back(own);
        has_input = has_input || needs_input;
        has_output = has_output || needs_output;
    }
    return found;
}

}  // namespace dse::prediction
