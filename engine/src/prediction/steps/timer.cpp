#include "prediction/steps/timer.hpp"

#include <algorithm>

#include "prediction/memory/memory.hpp"

namespace dse::prediction {

namespace {

constexpr double kHostShare = 0.8;  // large copies reach this share of the link to the host, as an assumption

Pass& scratch() {
    thread_local Pass pass;
    return pass;
}

void hide(Parts& parts, StepPart part, double seconds, double contended = 0.0) {
    parts[part] += std::max(contended * seconds, seconds - parts.total_s());
}

}  // namespace

Timer::Timer(const Sizes& sizes, const Cluster& cluster, const Groups& groups, const Synthesizer& synthesizer,
             Memo<Links>& known)
    : sizes_(sizes),
      cluster_(cluster),
      groups_(groups),
      synthesizer_(synthesizer),
      rates_(Rates::of(cluster.accelerator, sizes.framework, sizes.plan.has_full_graphs)),
      host_bytes_per_s_(cluster.accelerator.host_bandwidth_gbps * 1e9 * kHostShare),
      known_links_(known),
      layers_(sizes.model.kinds.size()) {}

const Links& Timer::links(GroupAxis axis) {
    const Links*& known = links_[static_cast<std::size_t>(axis)];
    if (known != nullptr) return *known;
    Group group;
    Algorithm algorithm = Algorithm::kAuto;
    switch (axis) {
        case GroupAxis::kTp:
            group = groups_.tp;
            algorithm = cluster_.tensor_algorithm;
            break;
        case GroupAxis::kExpertTp:
            group = groups_.expert_tp;
            algorithm = cluster_.tensor_algorithm;
            break;
        case GroupAxis::kExpertDp:
            group = groups_.expert_dp;
            algorithm = cluster_.data_algorithm;
            break;
        case GroupAxis::kDpCp:
            group = groups_.dp_cp;
            algorithm = cluster_.data_algorithm;
            break;
        case GroupAxis::kReplicas:
            group = groups_.replicas;
            algorithm = cluster_.data_algorithm;
            break;
        case GroupAxis::kCp:
            group = groups_.cp;
            break;
        case GroupAxis::kEp:
            group = groups_.ep;
            break;
        case GroupAxis::kPp:
            group = groups_.pp;
            break;
    }
    const bool is_of_experts = axis == GroupAxis::kExpertTp || axis == GroupAxis::kExpertDp;
    if (is_of_experts && !sizes_.model.experts) group.size = 1;
    known = &known_links_.of([&] { return Links::of(group, cluster_, algorithm, synthesizer_); }, &cluster_,
                             group, algorithm);
    return *known;
}

Passes Timer::chunk(const Chunk& chunk) {
    Passes found;
    const auto add = [&](const Passes& one, double times) {
        found.forward.add(one.forward, times);
        found.backward.add(one.backward, times);
        found.weight_s += times * one.weight_s;
    };
    // An end may have no layer.
    const double layers = static_cast<double>(std::max<std::int64_t>(1, chunk.count()));
    const double repeated = static_cast<double>(chunk.repeated) / layers;
    for (const LayerCount& run : chunk.layers) {
        const auto count = static_cast<double>(run.count);
        if (1 - repeated != 0.0) add(layer(run.kind, false), count * (1 - repeated));
        if (repeated != 0.0) add(layer(run.kind, true), count * repeated);
    }
    const double further = static_cast<double>(sizes_.model.prediction_layers);
    const double rows = (chunk.has_embedding ? 1.0 : 0.0) + (chunk.has_head ? further : 0.0);
    for (const bool is_head : {false, true}) {
        const double times = is_head ? (chunk.has_head ? 1 + further : 0.0) : rows;
        if (times == 0.0) continue;
        auto& known = ends_[is_head];
        if (!known) known = end(is_head);
        add(*known, times);
    }
    return found;
}

const Passes& Timer::layer(std::uint32_t kind, bool is_recomputed) {
    auto& known = layers_[kind][is_recomputed];
    if (!known) known = timed(sizes_.model.kinds[kind], is_recomputed);
    return *known;
}

Passes Timer::timed(const LayerKind& kind, bool is_recomputed) {
    const Plan& plan = sizes_.plan;
    Pass& pass = scratch();
    layer_kernels(sizes_, kind, pass);
    const double meeting = meeting_s();
    Passes found;
    Parts &forward = found.forward, &backward = found.backward;
    forward = kernels_s(pass.forward, rates_, meeting);
    backward = kernels_s(pass.backward, rates_, meeting, true);
    if (plan.cp > 1) exchange_context(kind, forward, backward);
    if (sizes_.has_experts(kind)) exchange_tokens(forward, backward);
    for (Parts* one : {&forward, &backward}) {  // the CPU launches an eager pass no faster
        const double waiting = pass.host_launches * rates_.floor_s - one->total_s();
        if (waiting > 0) (*one)[StepPart::kLaunches] += waiting;
    }
    Parts repeated;
    if (is_recomputed) repeated = again(kind, pass, forward, meeting);
    backward.add(repeated);
    if (plan.zero_stage == 3) gather_weights(layer_weights(sizes_, kind), forward, backward);
    if (plan.offloaded_layers != 0) {
        const double most = static_cast<double>(sizes_.model.num_layers) / static_cast<double>(plan.pp);
        const double share = std::min(1.0, static_cast<double>(plan.offloaded_layers) / most);
        const double moved = share * kept_bytes(sizes_, kind, is_recomputed) / host_bytes_per_s_;
        hide(forward, StepPart::kMemoryBound, moved);
        hide(backward, StepPart::kMemoryBound, moved);
    }
    const double products = backward[StepPart::kMatrixProducts] - repeated[StepPart::kMatrixProducts];
    found.weight_s = of_weights() * products + backward[StepPart::kDp];
    return found;
}

/// The part of a layer's forward pass that the backward pass repeats, with its exchange of tokens.
///
/// JAX's checkpoint leaves out what no gradient needs: the last product of a dense layer, and the sum behind
/// it. Norms behind blocks need it, and so do the weights of what experts return. An adapter adds products.
Parts Timer::again(const LayerKind& kind, const Pass& pass, const Parts& forward, double meeting) const {
    if (sizes_.plan.recompute == Recompute::kFull) {
        const Model& model = sizes_.model;
        const bool is_jax = sizes_.framework.memory.selective == Selective::kProducts;
        if (!is_jax || model.post_norms || model.lora || sizes_.has_experts(kind)) return forward;
        std::vector<Kernel> needed = pass.forward;
        while (!needed.empty() && needed.back().unit != Unit::kProducts) needed.pop_back();
        if (!needed.empty()) needed.pop_back();
        Parts found = kernels_s(needed, rates_, meeting);
        found[StepPart::kCp] += forward[StepPart::kCp];
        return found;
    }
    const Modules modules = sizes_.plan.recomputed;
    if (modules == 0) return {};
    Parts found = kernels_s(pass.forward, rates_, 0.0, false, modules);
    if (holds(modules, Module::kExperts)) found[StepPart::kEp] += forward[StepPart::kEp];
    return found;
}

/// The time that nothing hides of a collective over tp before or after a block of a layer.
double Timer::meeting_s() {
    if (meeting_s_) return *meeting_s_;
    const Plan& plan = sizes_.plan;
    meeting_s_ = 0.0;
    if (plan.tp > 1) {
        const double size = 2 * sizes_.tokens * sizes_.d_model;
        const double exposed = 1 - (plan.overlap_tp ? sizes_.framework.tp_overlap : 0.0);
        const Links& own = links(GroupAxis::kTp);
        meeting_s_ = exposed * (plan.sequence_parallel ? own.gather_s(size) : own.all_reduce_s(size));
    }
    return *meeting_s_;
}

/// Keys and values meet: a ring hides behind attention, the others do not (Liu et al. 2023).
void Timer::exchange_context(const LayerKind& kind, Parts& forward, Parts& backward) {
    if (kind.mixer == Mixer::kNone) return;
    const Links& own = links(GroupAxis::kCp);
    const bool is_state_space = kind.mixer == Mixer::kStateSpace;
    if (is_state_space || sizes_.plan.context == Context::kUlysses) {
        const double widths =
            is_state_space ? sizes_.state_made + sizes_.state_width
                           : sizes_.query_width + sizes_.key_width + sizes_.value_width + sizes_.output_width;
        const double one = own.exchange_s(2 * sizes_.tokens * widths);
        forward[StepPart::kCp] += one;
        backward[StepPart::kCp] += one;
        return;
    }
    const double both = 2 * sizes_.tokens * (sizes_.key_width + sizes_.value_width) * sizes_.cp;
    const bool hides = sizes_.plan.context == Context::kRing;
    const double one = hides ? own.pass_around_s(both) : own.gather_s(both);
    const auto add = [&](Parts& parts, double seconds) {
        parts[StepPart::kCp] += std::max(0.0, seconds - (hides ? parts[StepPart::kAttention] : 0.0));
    };
    add(forward, one);
    add(backward, 2 * one);
}

/// Tokens go to their experts and back; those of expert_tp meet and part again.
void Timer::exchange_tokens(Parts& forward, Parts& backward) {
    const Plan& plan = sizes_.plan;
    const Experts& experts = *sizes_.model.experts;
    const double brought = 2 * sizes_.tokens * sizes_.d_model * sizes_.expert_load / sizes_.tp;
    const double sent = static_cast<double>(experts.top_k) * brought;
    double one = 0.0;
    if (plan.is_deduplicated) {
        one = 2 * Dispatcher::of(groups_.ep, cluster_).one_way_s(brought, experts);
    } else {
        one = 2 * links(GroupAxis::kEp).exchange_s(sent);
    }
    if (sizes_.expert_tp > 1 && (plan.ep > 1 || plan.sequence_parallel)) {
        one += 2 * links(GroupAxis::kExpertTp).gather_s(sent * sizes_.expert_tp);
    }
    for (Parts* parts : {&forward, &backward}) {
        if (plan.overlap_ep) {
            hide(*parts, StepPart::kEp, one);
        } else {
            (*parts)[StepPart::kEp] += one;
        }
    }
}

/// ZeRO-3: both passes gather weights a layer ahead; gradients are scattered (Zhao et al. 2023).
void Timer::gather_weights(const Weights& weights, Parts& forward, Parts& backward) {
    const double gather = spread_s(weights, 2.0), scatter = reduce_s(weights.trained());
    hide(forward, StepPart::kDp, gather, kContended);
    hide(backward, StepPart::kDp, gather + scatter, kContended);
}

double Timer::reduce_s(const Weights& weights) {
    const auto size = static_cast<double>(sizes_.framework.gradient_bytes);
    double seconds = spread_s(weights, size);
    if (sizes_.plan.shard_ranks != 0) {
        const double shard = weights.dense / static_cast<double>(groups_.dp_cp.size);
        seconds += links(GroupAxis::kReplicas).all_reduce_s(size * shard);
    }
    return seconds;
}

double Timer::spread_s(const Weights& weights, double bytes_each) {
    const double dense = links(GroupAxis::kDpCp).gather_s(bytes_each * weights.dense);
    return dense + links(GroupAxis::kExpertDp).gather_s(bytes_each * weights.experts);
}

/// Embedding or head: over tp, features or logits are summed.
Passes Timer::end(bool is_head) {
    const Plan& plan = sizes_.plan;
    const Model& model = sizes_.model;
    Pass& pass = scratch();
    if (is_head) {
        head_kernels(sizes_, pass);
    } else {
        embedding_kernels(sizes_, pass);
    }
    Passes found;
    Parts &forward = found.forward, &backward = found.backward;
    forward = kernels_s(pass.forward, rates_);
    backward = kernels_s(pass.backward, rates_, 0.0, true);
    if (plan.tp > 1) {
        const Links& own = links(GroupAxis::kTp);
        const double size = 2 * sizes_.tokens * sizes_.d_model;
        // Maximum and sum of every token's exponentials.
        if (is_head) forward[StepPart::kTp] += 2 * own.all_reduce_s(4 * sizes_.tokens);
        if (plan.sequence_parallel) {  // the head's inputs meet, and again for the gradient of its weights
            forward[StepPart::kTp] += own.gather_s(size);
            backward[StepPart::kTp] += (is_head ? 2 : 1) * own.gather_s(size);
        } else {
            (is_head ? backward : forward)[StepPart::kTp] += own.all_reduce_s(size);
        }
    }
    if (plan.zero_stage == 3) {  // the table stays between the passes
        const auto rows = static_cast<double>(is_head ? model.output_dim : model.input_dim);
        const Weights table{rows * sizes_.d_model / sizes_.tp, 0.0};
        hide(forward, StepPart::kDp, spread_s(table, 2.0), kContended);
        if (!model.lora) hide(backward, StepPart::kDp, reduce_s(table), kContended);
    }
    found.weight_s = of_weights() * backward[StepPart::kMatrixProducts] + backward[StepPart::kDp];
    return found;
}

}  // namespace dse::prediction
