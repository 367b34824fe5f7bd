// Kernels of transformer blocks.
#include <algorithm>
#include <cmath>

#include "prediction/kernels/kernels.hpp"

namespace dse::prediction {

namespace {

// Megatron's kernel for mask and softmax takes score matrices by fours: sequences times heads of a rank.
constexpr std::int64_t kFusedSoftmax = 4;
// A causal sequence of this length halves the rate of fused attention: tiles on the diagonal, and their ends.
// Kernels alone have 160 to 690 by generation. The value is fitted to steps, as the next ones.
constexpr double kHalfSequence = 204.0;
// Narrow heads use matrix units worse: attention slows down by (128 / width) to this power.
constexpr double kHeadExponent = 0.3;
// Kernels access the tokens of experts so often: they sort them by expert, and put them back by weight.
constexpr double kRouting = 4.0;
// Bytes more per element where experts have biases: grouped products add none, so that bias, clamp and gate
// of gpt-oss are kernels of their own (fitted to its steps).
constexpr double kBiased = 24.0;
// Kernels that the CPU launches in an eager pass of a layer with experts, too short to count on the device:
// sorts, permutations and splits, and those for each expert of the NPU. CUDA graphs take those of the router
// and of attention away (fitted to steps of Megatron Bridge).
constexpr double kCommonLaunches = 137.0, kExpertLaunches = 12.6, kRouterLaunches = 50.0,
                 kAttentionLaunches = 21.0;

bool is_of_feed_forward(Part part) {
    return part == Part::kFeedForward || part == Part::kExperts || part == Part::kRouter ||
           part == Part::kSharedExperts;
}

Modules modules_of(Part part) {
    switch (part) {
        case Part::kFeedForward:
            return static_cast<Modules>(Module::kMlp);
        case Part::kSharedExperts:
            return Module::kExperts | Module::kSharedExperts;
        default:
            return static_cast<Modules>(Module::kExperts);
    }
}

/// Neighbours with the same input run as one product.
void fuse(const std::vector<Matrix>& found, std::vector<Matrix>& merged) {
    for (const Matrix& matrix : found) {
        const bool is_column = !matrix.is_row_split && !matrix.is_whole;
        if (!merged.empty() && is_column) {
            Matrix& last = merged.back();
            if (last.part == matrix.part && last.inputs == matrix.inputs && !last.is_row_split &&
                !last.is_whole) {
                last.outputs += matrix.outputs;
                continue;
            }
        }
        merged.push_back(matrix);
    }
}

/// Bytes per weight where a weight gradient is added to the sum over micro-batches.
double sums_bytes(const Sizes& sizes) {
    const auto each = static_cast<double>(sizes.framework.gradient_bytes);
    return each > 2 ? 2 * each : 2.0;
}

void norm(const Sizes& sizes, Pass& pass) {
    const double elements = sizes.tokens * sizes.d_model * sizes.norm_share;
    pass.memory(4 * elements, 6 * elements);
}

/// The norm before a block, which selective recomputation may run again.
void norm_before(const Sizes& sizes, Pass& pass) {
    const InModules in(pass, Module::kNorm);
    norm(sizes, pass);
}

/// Adds the output of a block to its input.
void residual(const Sizes& sizes, Pass& pass) {
    if (sizes.model.post_norms) norm(sizes, pass);
    const double elements = sizes.tokens * sizes.d_model * sizes.norm_share;
    pass.memory((6 + sizes.dropout_bytes) * elements, (4 + sizes.dropout_bytes) * elements);
}

void enter(const Sizes& sizes, Pass& pass) {
    const int sequence_parallel = sizes.plan.sequence_parallel ? 1 : 0;
    if (sizes.plan.tp > 1) pass.meet(sequence_parallel, 1 + sequence_parallel);
}

void leave(const Sizes& sizes, Pass& pass) {
    if (sizes.plan.tp > 1) pass.meet(1, sizes.plan.sequence_parallel ? 1 : 0);
}

void product(const Sizes& sizes, Pass& pass, const Matrix& matrix) {
    double tp = sizes.tp, tokens = sizes.tokens, count = 1.0;
    if (matrix.part == Part::kExperts) {
        tp = sizes.expert_tp;
        count = static_cast<double>(std::max<std::int64_t>(1, matrix.count / sizes.plan.ep));
        tokens = sizes.expert_tokens / count;
    }
    auto inputs = static_cast<double>(matrix.inputs), outputs = static_cast<double>(matrix.outputs);
    if (matrix.is_row_split) {
        inputs /= tp;
    } else if (!matrix.is_whole) {
        outputs /= tp;
        if (matrix.name == MatrixName::kQuery && !sizes.model.latent) {
            outputs = sizes.query_width + sizes.key_width + sizes.value_width;
        }
    }
    const bool is_frozen = sizes.model.lora.has_value();
    pass.product(tokens, outputs, inputs, matrix.part == Part::kRouter ? 16 : sizes.plan.bits, count,
                 sums_bytes(sizes), is_frozen);
    if (is_frozen && matrix.is_adapted) {
        const auto rank = static_cast<double>(sizes.model.lora->rank);
        pass.product(tokens, rank, inputs, 16, count, 2.0, false);
        pass.product(tokens, outputs, rank, 16, count, 2.0, false);
        pass.memory(6 * count * tokens * outputs, 6 * count * tokens * inputs);
    }
}

void activation(const Sizes& sizes, Pass& pass, const Matrix& matrix) {
    const Model& model = sizes.model;
    const auto outputs = static_cast<double>(matrix.outputs);
    const bool is_of_experts = matrix.part == Part::kExperts;
    const double elements =
        is_of_experts ? sizes.expert_tokens * outputs / sizes.expert_tp : sizes.tokens * outputs / sizes.tp;
    if (is_of_experts && model.biases && model.gated_mlp) {
        pass.memory((3 + kBiased) * elements, (5 + 2 * kBiased) * elements, 4);
    } else if (model.gated_mlp) {
        pass.memory(3 * elements, 5 * elements);
    } else {
        pass.memory(4 * elements, 6 * elements);
    }
}

void feed_forward(const Sizes& sizes, Pass& pass, const Matrix& matrix) {
    const InModules in(pass, modules_of(matrix.part));
    product(sizes, pass, matrix);
    if (matrix.name == MatrixName::kDown || matrix.part == Part::kRouter) return;
    const InModules inner(pass, matrix.part == Part::kExperts ? Module::kExpertActivation : Module::kNone);
    activation(sizes, pass, matrix);
}

/// Tokens are sorted by expert, sent, and put back with their weights.
void route(const Sizes& sizes, Pass& pass) {
    const double size = 2 * sizes.expert_tokens * sizes.d_model;
    pass.memory(kRouting * size, kRouting * size, 4);
    if (sizes.plan.has_full_graphs) return;
    double captured = 0.0;
    if (holds(sizes.plan.captured, Module::kRouter)) captured += kRouterLaunches;
    if (holds(sizes.plan.captured, Module::kAttention)) captured += kAttentionLaunches;
    const auto count = static_cast<double>(sizes.model.experts->count);
    pass.host_launches = kCommonLaunches + kExpertLaunches * count / sizes.ep - captured;
}

void unfused_attention(const Sizes& sizes, Pass& pass, double scores) {
    const auto seq = static_cast<double>(sizes.model.seq_len),
               width = static_cast<double>(sizes.model.key_width);
    const double matrix = static_cast<double>(sizes.plan.micro_batch) * sizes.heads * seq * seq / sizes.cp;
    Kernel one{.unit = Unit::kProducts, .part = StepPart::kAttention};
    one.operations = scores / 2;
    one.bytes = 4 * sizes.tokens * sizes.query_width + 2 * matrix;
    one.slowdown = 1 + kHalfSize * (2 / seq + 1 / width);
    const double transposed = 4 * sizes.tokens * (sizes.query_width + sizes.key_width + sizes.value_width);
    pass.memory(transposed, transposed, 1, StepPart::kAttention);
    const InModules in(pass, Module::kCoreAttention);
    for (int twice = 0; twice < 2; ++twice) {
        pass.add_forward(one);
        pass.backward.push_back(one);
        pass.backward.push_back(one);
    }
    const double matrices = static_cast<double>(sizes.plan.micro_batch) * sizes.heads;
    if (std::fmod(matrices, static_cast<double>(kFusedSoftmax)) != 0.0) {
        pass.memory(36 * matrix, 36 * matrix, 5, StepPart::kAttention);
    } else {
        pass.memory(4 * matrix, 6 * matrix, 1, StepPart::kAttention);
    }
    if (sizes.model.dropout) pass.memory(5 * matrix, 5 * matrix, 1, StepPart::kAttention);
}

/// An indexer scores all keys, and the best are found; back, those found alone count.
void index_keys(const Sizes& sizes, Pass& pass) {
    const SparseAttention& sparse = *sizes.model.sparse;
    const double scored = static_cast<double>(sizes.model.seq_len) / 2, found = sparse.mean_keys;
    const auto features = static_cast<double>(sparse.heads * sparse.head_dim);
    Kernel kernel{.unit = Unit::kAttention, .part = StepPart::kAttention};
    kernel.operations = 2 * sizes.tokens * scored * features;
    kernel.bytes = 4 * sizes.tokens * scored;
    const InModules in(pass, Module::kCoreAttention);
    pass.add_forward(kernel);
    kernel.operations = 4 * sizes.tokens * found * features;
    kernel.bytes = 8 * sizes.tokens * found;
    pass.backward.push_back(kernel);
    pass.memory(8 * sizes.tokens * scored, 0.0, 1, StepPart::kAttention);
}

void attention_core(const Sizes& sizes, Pass& pass, const LayerKind& kind) {
    const double tokens = sizes.tokens, queries = sizes.query_width, keys = sizes.key_width;
    const double values = sizes.value_width, out = sizes.output_width;
    if (sizes.model.latent) {
        const double moved = 2 * tokens * (queries + keys + values);
        const InModules in(pass, Module::kLatentUp);
        pass.memory(2 * moved, 2 * moved, 4);
    } else if (sizes.model.query_key_norms) {
        pass.memory(4 * tokens * (queries + keys), 6 * tokens * (queries + keys), 2);
    }
    if (!sizes.model.latent && sizes.model.gated_mlp) {  // rotary positions
        pass.memory(4 * tokens * (queries + keys), 4 * tokens * (queries + keys), 2);
    }
    if (sizes.plan.is_unfused) {
        unfused_attention(sizes, pass,
                          2 * tokens * static_cast<double>(sizes.model.seq_len) * (queries + out));
        return;
    }
    if (sizes.model.sparse) index_keys(sizes, pass);
    const double seen = kind.mean_keys;
    const auto width = static_cast<double>(std::min<std::int64_t>(128, sizes.model.key_width));
    Kernel kernel{.unit = Unit::kAttention, .part = StepPart::kAttention};
    kernel.operations = 2 * tokens * seen * (queries + out);
    kernel.bytes = 2 * tokens * (queries + keys + values + out);
    kernel.slowdown = (1 + kHalfSequence / (2 * seen)) * std::pow(128 / width, kHeadExponent);
    const InModules in(pass, Module::kCoreAttention);
    pass.add_forward(kernel);
    kernel.operations *= 2.5;
    kernel.bytes *= 2.5;
    pass.backward.push_back(kernel);
}

}  // namespace

void layer_kernels(const Sizes& sizes, const LayerKind& kind, Pass& pass) {
    pass.clear();
    thread_local std::vector<Matrix> fused;
    fused.clear();
    fuse(kind.matrices, fused);
    if (kind.is_prediction) {  // its projection is a block before attention
        enter(sizes, pass);
        leave(sizes, pass);
    }
    if (kind.mixer != Mixer::kNone) {
        norm_before(sizes, pass);
        enter(sizes, pass);
        std::size_t last = 0;
        for (std::size_t i = 0; i < fused.size(); ++i) {
            if (!is_of_feed_forward(fused[i].part)) last = i;
        }
        for (std::size_t i = 0; i < last; ++i) {
            if (is_of_feed_forward(fused[i].part)) continue;
            const bool is_up = fused[i].name == MatrixName::kUpProjection;
            const InModules in(pass, is_up ? Module::kLatentUp : Module::kNone);
            product(sizes, pass, fused[i]);
        }
        if (kind.mixer == Mixer::kStateSpace) {
            scan_kernels(sizes, pass);
        } else {
            attention_core(sizes, pass, kind);
        }
        product(sizes, pass, fused[last]);
        leave(sizes, pass);
        residual(sizes, pass);
    }
    if (kind.feed_forward == FeedForward::kNone) return;
    norm_before(sizes, pass);
    const bool is_block = sizes.is_tensor_block(kind);
    if (is_block) enter(sizes, pass);
    if (kind.feed_forward == FeedForward::kExperts) {
        const InModules in(pass, Module::kExperts);
        route(sizes, pass);
    }
    for (const Matrix& matrix : fused) {
        if (is_of_feed_forward(matrix.part)) feed_forward(sizes, pass, matrix);
    }
    if (is_block) leave(sizes, pass);
    residual(sizes, pass);
}

void embedding_kernels(const Sizes& sizes, Pass& pass) {
    pass.clear();
    const double size = 2.0 * sizes.tokens * sizes.d_model;
    const double gradient = sizes.model.lora ? 0.0 : 3 * size * sizes.norm_share;
    pass.memory(4 * size * sizes.norm_share, gradient, 2);
}

void head_kernels(const Sizes& sizes, Pass& pass) {
    pass.clear();
    norm_before(sizes, pass);
    const double width = static_cast<double>(sizes.model.output_dim) / sizes.tp;
    pass.product(sizes.tokens, width, sizes.d_model, 16, 1.0, sums_bytes(sizes),
                 sizes.model.lora.has_value());
    const double logits = sizes.tokens * width;
    pass.memory(38 * logits, 14 * logits, 8);
}

// Kernels of Mamba-2 (https://arxiv.org/abs/2405.21060). Forward: states of chunks, their way from chunk to
// chunk, scores inside a chunk, and outputs of both. The backward pass runs the first three again and then
// the gradients of each. States and scores have 4 bytes.
void scan_kernels(const Sizes& sizes, Pass& pass) {
    // Tokens that meet as in attention, before states take over: the default of Megatron-Core's mixer.
    constexpr double kChunk = 128.0;
    const StateSpace& mixer = *sizes.model.state_space;
    const double tokens = sizes.tokens, width = static_cast<double>(mixer.width) / sizes.tp;
    const auto state = static_cast<double>(mixer.state), groups = static_cast<double>(mixer.groups);
    const double shared = groups * state / sizes.tp;
    const double states = 4 * width * state / kChunk, scores = 4 * kChunk * groups / sizes.tp;
    const double features = 2 * width, through = 2.0 * width * state, inside = 1.0 * kChunk * width;
    const auto kernel = [&](double operations, double bytes) {
        Kernel made{.unit = Unit::kAttention, .part = StepPart::kAttention};
        made.operations = tokens * operations;
        made.bytes = tokens * bytes;
        return made;
    };
    const double convolved = 2 * tokens * (width + 2 * shared);
    pass.memory(2 * convolved, 5 * convolved, 2);
    for (const Kernel& one : {kernel(through, features + 2 * shared + states), kernel(0.0, 2 * states),
                              kernel(2 * kChunk * shared, 4 * shared + scores)}) {
        pass.add_forward(one);
        pass.backward.push_back(one);
    }
    const Kernel outputs = kernel(inside + through, 2 * features + 2 * shared + states + scores);
    pass.add_forward(outputs);
    pass.backward.push_back(kernel(through, features + 2 * shared + states));
    pass.backward.push_back(kernel(0.0, 3 * states));
    pass.backward.push_back(outputs);
    pass.backward.push_back(kernel(through, features + 4 * shared + states));
    pass.backward.push_back(kernel(through, features + 4 * shared + states));
    pass.backward.push_back(kernel(inside, 2 * features + scores));
    pass.backward.push_back(kernel(4 * kChunk * shared, 8 * shared + 2 * scores));
    pass.memory(3 * tokens * features, 5 * tokens * features);
}

}  // namespace dse::prediction
