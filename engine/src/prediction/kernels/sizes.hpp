// The share that one NPU holds of a micro-batch and of a layer under a plan: sizes after sharding.
#pragma once

#include <algorithm>

#include "prediction/inputs/cluster.hpp"
#include "prediction/inputs/model.hpp"
#include "prediction/inputs/plan.hpp"

namespace dse::prediction {

/// Sizes on one NPU; features and tokens as doubles, for shards need not be whole.
struct Sizes {
    const Model& model;
    const Plan& plan;
    Framework framework;

    double tp = 1.0, ep = 1.0, cp = 1.0;
    double tokens = 0.0;  ///< of a micro-batch, between the blocks that tensor parallelism splits
    double d_model = 0.0;
    double norm_share = 1.0;      ///< of the tokens that norms and residuals work on
    double residual_share = 1.0;  ///< of residuals that are kept
    double heads = 0.0, query_width = 0.0, key_width = 0.0, value_width = 0.0, output_width = 0.0;
    double state_made = 0.0, state_width = 0.0;  ///< of a mixer's first product, and of its heads
    double expert_tp = 1.0, expert_load = 1.0;
    double expert_tokens =
        0.0;  ///< that the experts of the busiest NPU take, a token counted once per expert
    double dropout_bytes = 0.0;

    Sizes(const Model& of, const Plan& under, const Framework& by) : model(of), plan(under), framework(by) {
        if (plan.launch_us >= 0) framework.launch_us = plan.launch_us;
        if (plan.elementwise >= 0) framework.elementwise = plan.elementwise;
        tp = static_cast<double>(plan.tp);
        ep = static_cast<double>(plan.ep);
        cp = static_cast<double>(plan.cp);
        tokens = static_cast<double>(plan.micro_batch * model.seq_len) / cp;
        d_model = static_cast<double>(model.d_model);
        norm_share = plan.sequence_parallel ? 1 / tp : 1.0;
        residual_share = framework.memory.splits_residual ? 1 / tp : norm_share;
        heads = static_cast<double>(model.num_heads) / tp;
        query_width = heads * static_cast<double>(model.key_width);
        output_width = heads * static_cast<double>(model.value_width);
        if (model.latent) {
            key_width = query_width;
            value_width = output_width;
        } else {
            key_width = std::max(static_cast<double>(model.key_value_heads) / tp, 1.0) *
                        static_cast<double>(model.key_width);
            value_width = key_width;
        }
        if (model.state_space) {
            const StateSpace& mixer = *model.state_space;
            state_made = static_cast<double>(mixer.width + mixer.conv_width + mixer.heads) / tp;
            state_width = static_cast<double>(mixer.width) / tp;
        }
        expert_tp = static_cast<double>(plan.expert_degree());
        if (model.experts) {
            const Experts& experts = *model.experts;
            expert_load = plan.ep > 1 ? experts.imbalance : 1.0;
            if (experts.capacity_factor) expert_load = std::min(expert_load, *experts.capacity_factor);
            expert_tokens = tokens * static_cast<double>(experts.top_k) * expert_load * expert_tp / tp;
        }
        dropout_bytes = model.dropout ? 1.0 : 0.0;
    }

    bool has_experts(const LayerKind& kind) const { return kind.feed_forward == FeedForward::kExperts; }

    /// Whether the ranks of tensor parallelism meet before and after the feed-forward block of a layer.
    bool is_tensor_block(const LayerKind& kind) const {
        if (!model.experts || !has_experts(kind) || !plan.sequence_parallel) return true;
        return model.experts->shared_width > 0;
    }

    /// Blocks of a layer before and after which they meet; prediction layers begin with a projection.
    int tensor_blocks(const LayerKind& kind) const {
        const bool meets_after = kind.feed_forward != FeedForward::kNone && is_tensor_block(kind);
        return (kind.is_prediction ? 1 : 0) + (kind.mixer != Mixer::kNone ? 1 : 0) + (meets_after ? 1 : 0);
    }
};

}  // namespace dse::prediction
