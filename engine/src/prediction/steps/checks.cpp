// Plans that cannot run, and why.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "prediction/steps/predict.hpp"

namespace dse::prediction {

namespace {

std::string text(std::int64_t value) { return std::to_string(value); }

// Most plans pass all checks: a reason is put together only for those that fail.
void require(bool holds, std::string_view reason) {
    if (!holds) throw Infeasible{std::string(reason)};
}

void divides(std::string_view what, std::int64_t degree, std::string_view of, std::int64_t size) {
    if (size % degree != 0) {
        throw Infeasible{std::string(what) + " is " + text(degree) + "; it must divide " + std::string(of) +
                         ", " + text(size)};
    }
}

void check_shards(const Model& model, const Plan& plan) {
    divides("tp", plan.tp, "the heads", model.num_heads);
    divides("tp", plan.tp, "d_ff", model.d_ff);
    if (model.state_space)
        divides("tp", plan.tp, "the groups of state-space heads", model.state_space->groups);
    const std::int64_t heads = model.key_value_heads;
    if (!model.latent && heads % plan.tp != 0 && plan.tp % heads != 0) {
        throw Infeasible{"tp is " + text(plan.tp) + "; it must divide the " + text(heads) +
                         " heads of keys, or be a multiple"};
    }
    // Causal halves are balanced in pairs.
    const std::int64_t pieces = plan.cp * (plan.context != Context::kUlysses && plan.cp > 1 ? 2 : 1);
    divides(pieces == plan.cp ? "cp" : "2 cp", pieces, "the sequence", model.seq_len);
    if (plan.context == Context::kUlysses) {
        divides("tp x cp", plan.tp * plan.cp, "the heads (context=ulysses)", model.num_heads);
    }
    if (!plan.sequence_parallel) return;
    require(plan.tp != 1, "sequence_parallel has no effect with tp 1; leave it out, or use cp");
    divides("tp", plan.tp, "the sequence of a rank (sequence_parallel)", model.seq_len / plan.cp);
}

void check_experts(const Model& model, const Plan& plan) {
    if (!model.experts) {
        if (plan.ep > 1) {
            throw Infeasible{"ep is " + text(plan.ep) + ", but " + model.name +
                             " has no experts; it must be 1"};
        }
        if (plan.expert_tp != 0) {
            throw Infeasible{"expert_tp is " + text(plan.expert_tp) + ", but " + model.name +
                             " has no experts; leave it out"};
        }
        return;
    }
    divides("tp", plan.tp, "the width of the shared experts", model.experts->shared_width);
    divides("ep", plan.ep, "the experts", model.experts->count);
    const std::int64_t expert_tp = plan.expert_degree();
    divides("expert_tp", expert_tp, "the width of an expert", model.experts->d_ff);
    divides("ep x expert_tp", plan.ep * expert_tp, "tp x cp x dp", plan.tp * plan.cp * plan.dp);
    divides("expert_tp", expert_tp, "tp", plan.tp);
}

/// The modules that a model lacks.
Modules lacking(const Model& model) {
    Modules found = 0;
    const auto lacks = [&](Modules modules, bool has) { found |= has ? Modules{0} : modules; };
    lacks(static_cast<Modules>(Module::kLatentUp), model.latent.has_value());
    lacks(static_cast<Modules>(Module::kMlp),
          std::any_of(model.kinds.begin(), model.kinds.end(),
                      [](const LayerKind& kind) { return kind.feed_forward == FeedForward::kDense; }));
    lacks(static_cast<Modules>(Module::kSharedExperts), model.experts && model.experts->shared > 0);
    lacks(Module::kExperts | Module::kExpertActivation, model.experts.has_value());
    lacks(Module::kRouter | Module::kPreprocess, model.experts.has_value());
    return found;
}

/// Refuses modules that the model lacks, and choices of an exchange of tokens where there is none.
void check_modules(const Model& model, const Plan& plan) {
    if (plan.ep == 1) {
        if (*plan.dispatcher_text != "alltoall") {
            throw Infeasible{"dispatcher=" + *plan.dispatcher_text +
                             " has no effect with ep 1; leave it out"};
        }
        require(!plan.overlap_ep, "overlap_ep=true has no effect with ep 1; leave it out");
    }
    const Modules lacks = lacking(model);
    if (((plan.recomputed | plan.captured) & lacks) == 0) return;
    for (const auto& [axis, value] :
         {std::pair{"recompute", plan.recompute_text}, {"graphs", plan.graphs_text}}) {
        for (const auto& [name, module] : modules_of_text(*value)) {
            if (holds(lacks, module)) {
                throw Infeasible{std::string(axis) + " has " + name + ", which " + model.name +
                                 " does not have; leave it out"};
            }
        }
    }
}

void check_options(const Plan& plan, const Model& model, const Cluster& cluster, const Setting& setting) {
    const Accelerator& accelerator = cluster.accelerator;
    const auto has = [&](const Precision& precision) { return accelerator.peak(precision.format) != 0.0; };
    const auto is_known = [&](const Precision& precision) {
        return precision.name == *plan.precision_text && has(precision);
    };
    if (std::none_of(setting.precisions.begin(), setting.precisions.end(), is_known)) {
        std::string known;
        for (const Precision& precision : setting.precisions) {
            if (has(precision)) known += (known.empty() ? "" : ", ") + precision.name;
        }
        throw Infeasible{"precision is " + *plan.precision_text + ", which " + accelerator.name +
                         " does not have; write " + known};
    }
    require(!plan.is_unfused || (plan.cp == 1 && !model.latent),
            "attention=unfused goes without cp and without latent attention; write flash");
    require(plan.recompute_layers == 0 || plan.recompute != Recompute::kNone,
            "recompute_layers has no effect with recompute=none; write full or selective");
    require(!plan.is_weight_sharded || plan.overlap_dp,
            "overlap_dp=false has no effect with zero 3, which gathers weights a layer ahead; leave it out");
}

void check_copies(const Model& model, const Plan& plan) {
    if (plan.shard_ranks == 0) return;
    if (!plan.is_weight_sharded) {
        throw Infeasible{"shard_ranks has no effect with zero " + text(plan.zero) + "; it must be 3 (FSDP)"};
    }
    require(plan.cp == 1 && !model.experts, "shard_ranks goes without cp and without experts; leave it out");
    divides("shard_ranks", plan.shard_ranks, "dp", plan.dp);
    if (plan.shard_ranks == 1 || plan.shard_ranks == plan.dp) {
        throw Infeasible{"shard_ranks is " + text(plan.shard_ranks) + " of dp " + text(plan.dp) +
                         ": write zero 1 for whole copies, and leave it out for a single one"};
    }
}

}  // namespace

std::int64_t micro_batches(const Model& model, const Plan& plan) {
    const std::int64_t each = plan.dp * plan.micro_batch;
    if (model.batch_size % each != 0) {
        throw Infeasible{"dp " + text(plan.dp) + " x micro_batch " + text(plan.micro_batch) + " is " +
                         text(each) + "; it must divide the batch of " + text(model.batch_size)};
    }
    return model.batch_size / each;
}

void check_choices(const Model& model, const Plan& plan, const Cluster& cluster, const Setting& setting) {
    check_shards(model, plan);
    check_experts(model, plan);
    check_modules(model, plan);
    check_options(plan, model, cluster, setting);
}

void check(const Model& model, const Plan& plan, const Cluster& cluster, const Setting& setting) {
    if (plan.micro_batch < 1) {
        throw Infeasible{"micro_batch is " + text(plan.micro_batch) + "; it must be at least 1"};
    }
    if (plan.npus() != cluster.npus()) {
        throw Infeasible{"tp " + text(plan.tp) + " x cp " + text(plan.cp) + " x dp " + text(plan.dp) +
                         " x pp " + text(plan.pp) + " is " + text(plan.npus()) + " NPUs, but " +
                         cluster.name + " has " + text(cluster.npus())};
    }
    check_choices(model, plan, cluster, setting);
    if (plan.pp == 1 && *plan.stages_text != "even") {
        throw Infeasible{"stages=" + *plan.stages_text + " has no effect with pp 1; leave it out"};
    }
    check_copies(model, plan);
    const std::string problem = setting.orders.problem(setting.schedules[plan.schedule], plan.pp, plan.chunks,
                                                       micro_batches(model, plan));
    if (!problem.empty()) throw Infeasible{problem};
    if (!plan.has_default_order) groups_of(plan);
    if (cluster.has_default_algorithms()) return;
    const Groups groups = groups_of(plan);
    legs_of(groups.tp, cluster, cluster.tensor_algorithm);
    legs_of(groups.dp_cp, cluster, cluster.data_algorithm);
    legs_of(groups.replicas, cluster, cluster.data_algorithm);
    if (!model.experts) return;
    legs_of(groups.expert_tp, cluster, cluster.tensor_algorithm);
    legs_of(groups.expert_dp, cluster, cluster.data_algorithm);
}

}  // namespace dse::prediction
