#include "prediction/steps/collectives_used.hpp"

namespace dse::prediction {

namespace {

/// Of the largest chunk of a stage; with ZeRO-3 of the largest layer.
Weights largest_weights(const Step& step) {
    Weights largest;
    const auto take = [&](const Weights& own) {
        if (own.total() > largest.total()) largest = own;
    };
    if (step.plan().zero_stage == 3) {
        for (const LayerKind& kind : step.model().kinds) {
            if (!kind.is_prediction) take(layer_weights(step.sizes(), kind));
        }
        return largest;
    }
    for (std::size_t stage = 0; stage < step.layout().stages.size(); ++stage) {
        for (const Weights& own : step.weights(stage)) take(own);
    }
    return largest;
}

}  // namespace

std::vector<GroupCollective> collectives_used(Step& step) {
    const Sizes& sizes = step.sizes();
    const Plan& plan = step.plan();
    std::vector<GroupCollective> found;
    const auto add = [&](GroupAxis axis, std::string_view name, std::string_view collective,
                         double size_bytes) {
        const Links& links = step.timer().links(axis);
        if (links.size == 1 || size_bytes == 0.0) return;
        GroupCollective one{name, links.size, collective, size_bytes, links.algorithm, 0.0};
        if (collective == "all-reduce") {
            one.algorithm = links.used(size_bytes);
            one.seconds = links.all_reduce_s(size_bytes);
        } else {
            if (one.algorithm == Algorithm::kAuto) one.algorithm = Algorithm::kRing;
            one.seconds = links.gather_s(size_bytes);
        }
        found.push_back(one);
    };
    const double hidden = 2 * sizes.tokens * sizes.d_model;
    add(GroupAxis::kTp, "tp", plan.sequence_parallel ? "reduce-scatter and all-gather" : "all-reduce",
        hidden);
    if (sizes.model.experts && sizes.expert_tp > 1 && (plan.ep > 1 || plan.sequence_parallel)) {
        const auto top_k = static_cast<double>(sizes.model.experts->top_k);
        const double sent = hidden * top_k * sizes.expert_load / sizes.tp * sizes.expert_tp;
        add(GroupAxis::kExpertTp, "expert_tp", "all-gather and reduce-scatter", sent);
    }
    const auto gradient = static_cast<double>(sizes.framework.gradient_bytes);
    const Weights weights = largest_weights(step), trained = weights.trained();
    if (plan.zero_stage == 3) {
        constexpr std::string_view kGathered = "all-gather of a layer's weights";
        add(GroupAxis::kDpCp, "dp_cp", kGathered, 2 * weights.dense);
        add(GroupAxis::kExpertDp, "expert_dp", kGathered, 2 * weights.experts);
        if (plan.shard_ranks != 0) {
            add(GroupAxis::kReplicas, "replicas", "all-reduce",
                gradient * trained.dense / static_cast<double>(plan.shard_ranks));
        }
        return found;
    }
    const std::string_view collective = plan.zero_stage != 0 ? "reduce-scatter" : "all-reduce";
    add(GroupAxis::kDpCp, "dp_cp", collective, gradient * trained.dense);
    add(GroupAxis::kExpertDp, "expert_dp", collective, gradient * trained.experts);
    return found;
}

}  // namespace dse::prediction
