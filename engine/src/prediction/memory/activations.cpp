// Bytes that a layer keeps for its backward pass, tensor by tensor.
//
// These are inputs of norms and products, operands of attention, and masks: Korthikanti et al. 2022,
// equations 1 to 4, in the shape of the model. In low precisions, inputs of products are kept so, but not of
// frozen ones without an adapter. Modules are those of Megatron-Core's selective recomputation.
#include <algorithm>

#include "prediction/memory/memory.hpp"

namespace dse::prediction {

namespace {

/// Sums the tensors of a layer but for those that are recomputed.
class Kept {
public:
    explicit Kept(Modules again) : again_(again) {}
    void add(double bytes, Modules modules = 0) {
        if ((modules & again_) == 0) total_ += bytes;
    }
    void add(double bytes, Module module) { add(bytes, static_cast<Modules>(module)); }
    double total() const { return total_; }

private:
    Modules again_;
    double total_ = 0.0;
};

double inner(const Sizes& sizes) { return sizes.model.gated_mlp ? 4.0 : 2.0; }

double scores(const Sizes& sizes) {
    const auto seq = static_cast<double>(sizes.model.seq_len);
    return static_cast<double>(sizes.plan.micro_batch) * sizes.heads * (seq * seq) / sizes.cp;
}

void attention(const Sizes& sizes, double kept, Kept& found) {
    const double tokens = sizes.tokens, turned = sizes.framework.memory.unfused ? 2.0 : 1.0;
    const Module up = sizes.model.latent ? Module::kLatentUp : Module::kNone;
    found.add(2 * turned * tokens * (sizes.query_width + sizes.key_width + sizes.value_width), up);
    found.add(2 * tokens * sizes.output_width);
    if (sizes.model.query_key_norms) found.add(2 * tokens * (sizes.query_width + sizes.key_width));
    if (sizes.model.latent) {
        const auto ranks = static_cast<double>(sizes.model.latent->ranks);
        found.add(2 * tokens * ranks);
        found.add(kept * tokens * ranks, up);
    }
    if (sizes.model.sparse) {
        const SparseAttention& sparse = *sizes.model.sparse;
        found.add(tokens * static_cast<double>(2 * (sparse.heads + 1) * sparse.head_dim + 4 * sparse.top_k));
    }
    if (sizes.plan.is_unfused) {
        const double each = sizes.model.dropout ? 4 + sizes.dropout_bytes : 2.0;
        found.add(each * scores(sizes), Module::kCoreAttention);
        return;
    }
    if (sizes.plan.bits < 16 || sizes.plan.cp > 1) found.add(kept * tokens * sizes.output_width);
    found.add(4 * tokens * sizes.heads, Module::kCoreAttention);
}

void experts_of(const Sizes& sizes, double kept, Kept& found) {
    const Experts& experts = *sizes.model.experts;
    const double shared = sizes.tokens * static_cast<double>(experts.shared_width) / sizes.tp;
    const double inside = sizes.expert_tokens * static_cast<double>(experts.d_ff) / sizes.expert_tp;
    found.add((kept != 0.0 ? 4.0 : 0.0) * sizes.tokens * sizes.d_model * sizes.residual_share,
              Module::kExperts);
    found.add((inner(sizes) + kept) * shared, Module::kExperts | Module::kSharedExperts);
    found.add(kept * sizes.expert_tokens * sizes.d_model, Module::kExperts);
    found.add(inner(sizes) * inside, Module::kExperts);
    found.add(kept * inside, Module::kExperts | Module::kExpertActivation);
}

void part_of(const Sizes& sizes, Part part, Kept& found) {
    const auto& lora = sizes.model.lora;
    bool is_kept = true;
    if (lora) {
        is_kept = false;
        if (part == Part::kAttention) is_kept = lora->adapts_attention;
        if (part == Part::kFeedForward || part == Part::kExperts) is_kept = lora->adapts_feed_forward;
    }
    const double kept = is_kept ? static_cast<double>(sizes.plan.bits) / 8 : 0.0;
    const double features = sizes.tokens * sizes.d_model, residual = features * sizes.residual_share;
    found.add(2 * residual);
    found.add(kept * (sizes.framework.memory.gathered_inputs ? features : residual), Module::kNorm);
    found.add(sizes.dropout_bytes * residual);
    const double norms = sizes.model.post_norms ? 2.0 : 1.0;
    found.add(sizes.framework.memory.unfused ? 4 * norms * residual : 0.0, Module::kNorm);
    if (sizes.model.post_norms) found.add(2 * residual);  // the output of the block
    switch (part) {
        case Part::kAttention:
            attention(sizes, kept, found);
            break;
        case Part::kStateSpace:
            found.add(2 * sizes.tokens * sizes.state_made);
            found.add(2 * sizes.tokens * sizes.state_width);
            found.add(kept * sizes.tokens * sizes.state_width);
            break;
        case Part::kFeedForward: {
            const double size = sizes.tokens * static_cast<double>(sizes.model.d_ff) / sizes.tp;
            const double gate = sizes.framework.memory.unfused && sizes.model.gated_mlp ? 2.0 : 0.0;
            found.add((inner(sizes) + gate) * size, Module::kMlp);
            found.add(kept * size, Module::kMlp);
            break;
        }
        default:
            experts_of(sizes, kept, found);
            break;
    }
}

/// A layer keeps its input, the output of attention, and the outputs of every second product.
double kept_products(const Sizes& sizes, const LayerKind& kind) {
    const double tokens = sizes.tokens, residual = tokens * sizes.d_model * sizes.residual_share;
    double mixed = 0.0, inside = 0.0, outside = 0.0;
    if (kind.has(Part::kAttention)) {
        mixed = 2 * tokens * (sizes.query_width + sizes.value_width + sizes.output_width) +
                4 * tokens * sizes.heads;
    }
    if (kind.has(Part::kStateSpace)) mixed += 2 * tokens * (sizes.state_made + sizes.state_width);
    if (kind.has(Part::kFeedForward)) {
        inside = tokens * static_cast<double>(sizes.model.d_ff) / sizes.tp;
        outside = residual;
    }
    if (sizes.has_experts(kind)) {
        inside = sizes.expert_tokens * static_cast<double>(sizes.model.experts->d_ff) / sizes.expert_tp;
        outside = sizes.expert_tokens * sizes.d_model;
    }
    return 2 * residual + mixed + 2 * inside + (sizes.model.gated_mlp ? 2 * outside : 0.0);
}

/// A layer keeps its input and the outputs of its products; the rest is computed again from them. Where
/// nothing is recomputed, fused attention keeps its output besides.
double kept_outputs(const Sizes& sizes, const LayerKind& kind, bool keeps_attention) {
    const double tokens = sizes.tokens, residual = 2 * tokens * sizes.d_model * sizes.residual_share;
    double kept = 0.0;
    if (kind.has(Part::kAttention)) {
        kept += residual + 2 * tokens * (sizes.query_width + sizes.key_width + sizes.value_width);
        if (sizes.model.latent) kept += 2 * tokens * static_cast<double>(sizes.model.latent->ranks);
        if (keeps_attention) kept += 2 * tokens * sizes.output_width + 4 * tokens * sizes.heads;
    }
    if (kind.has(Part::kStateSpace)) {
        kept += residual + 2 * tokens * sizes.state_made;
        if (keeps_attention) kept += 2 * tokens * sizes.state_width;
    }
    if (kind.has(Part::kFeedForward)) {
        kept += residual + inner(sizes) * tokens * static_cast<double>(sizes.model.d_ff) / sizes.tp;
    }
    if (sizes.has_experts(kind)) {
        const Experts& experts = *sizes.model.experts;
        const double shared = tokens * static_cast<double>(experts.shared_width) / sizes.tp;
        const double inside = sizes.expert_tokens * static_cast<double>(experts.d_ff) / sizes.expert_tp;
        kept += residual + inner(sizes) * (shared + inside) + 2 * sizes.expert_tokens * sizes.d_model;
    }
    return kept;
}

double all_kept(const Sizes& sizes, const LayerKind& kind, Modules again) {
    Kept found(again);
    for (const Part part : {Part::kAttention, Part::kStateSpace, Part::kFeedForward, Part::kExperts}) {
        if (kind.has(part)) part_of(sizes, part, found);
    }
    return found.total();
}

}  // namespace

double kept_bytes(const Sizes& sizes, const LayerKind& kind, bool is_recomputed) {
    const Plan& plan = sizes.plan;
    const Modules again = is_recomputed ? plan.recomputed : Modules{0};
    if (is_recomputed && plan.recompute == Recompute::kFull) {
        return 2 * sizes.tokens * sizes.d_model * sizes.residual_share;
    }
    const Selective selective = sizes.framework.memory.selective;
    const bool is_selective = plan.recompute == Recompute::kSelective && again != 0;
    if (is_selective && selective == Selective::kEverySecondProduct) return kept_products(sizes, kind);
    if (selective == Selective::kProducts) return kept_outputs(sizes, kind, !is_selective);
    return all_kept(sizes, kind, again);
}

double backward_bytes(const Sizes& sizes, const LayerKind& kind) {
    const double tokens = sizes.tokens;
    double widest = 0.0;
    if (kind.has(Part::kAttention)) {
        const double all = sizes.plan.is_unfused ? 2 * scores(sizes) : 0.0;
        widest =
            std::max(widest, 2 * tokens * (sizes.query_width + sizes.key_width + sizes.value_width) + all);
    }
    if (kind.has(Part::kStateSpace))
        widest = std::max(widest, 2 * tokens * (sizes.state_made + sizes.state_width));
    if (kind.has(Part::kFeedForward)) {
        widest = std::max(widest, inner(sizes) * tokens * static_cast<double>(sizes.model.d_ff) / sizes.tp);
    }
    if (kind.has(Part::kExperts) && sizes.model.experts) {
        const double inside =
            sizes.expert_tokens * static_cast<double>(sizes.model.experts->d_ff) / sizes.expert_tp;
        widest = std::max(widest, 4 * sizes.expert_tokens * sizes.d_model + inner(sizes) * inside);
    }
    if (sizes.framework.memory.selective == Selective::kProducts) {
        widest += std::max(0.0, all_kept(sizes, kind, 0) - kept_outputs(sizes, kind, true));
    }
    return 2 * tokens * sizes.d_model * sizes.residual_share + widest;
}

}  // namespace dse::prediction
