#include "planner/steps/way.hpp"

#include <algorithm>
#include <numeric>

namespace dse::planner::steps {

namespace {

step::Plan plan_of(const Question& question, const StageChoice& choice, const Rounds& rounds,
                   bool is_pipelined) {
    step::Plan plan = question.modes[choice.type][choice.mode];
    plan.dp = choice.dp;
    plan.pp = is_pipelined ? 2 : 1;
    plan.micro_batch = rounds.sequences / choice.dp;
    return plan;
}

/// The cluster of a type with as many GPUs as `stages` take.
step::Cluster enlarged(const GpuType& type, std::int64_t gpus) {
    step::Cluster cluster = *type.cluster;
    cluster.tiers.back().npus = std::max(cluster.tiers.back().npus, gpus);
    return cluster;
}

}  // namespace

Way::Way(const Question& question, const StageChoice& choice, const Rounds& rounds, bool is_pipelined)
    : question_(question),
      type_(choice.type),
      mode_(choice.mode),
      micro_batches_(rounds.count),
      node_gpus_(question.types[choice.type].node_gpus),
      synthesizer_(question.setting->synthesizer),
      plan_(plan_of(question, choice, rounds, is_pipelined)),
      cluster_(enlarged(question.types[choice.type], plan_.npus())),
      sizes_(*question.model, plan_, question.setting->frameworks[plan_.framework]),
      groups_(step::groups_of(plan_)),
      timer_(sizes_, cluster_, groups_, synthesizer_, links_),
      updates_(sizes_, groups_, timer_),
      held_(4 + question.model->kinds.size()) {
    step::check_choices(*question.model, plan_, cluster_, *question.setting);
}

/// Weights add up: those of the ends alone, and of a layer of each kind.
const step::Weights& Way::held_of(std::optional<std::uint32_t> kind, bool has_embedding, bool has_head) {
    std::optional<step::Weights>& known = held_[kind ? 4 + *kind : 2 * has_embedding + has_head];
    if (!known) {
        step::Layout layout;
        layout.types.push_back({{}, has_embedding, has_head, 0});
        if (kind) layout.types.front().layers.push_back({*kind, 1});
        known = step::stage_weights(sizes_, layout, {0}).front();
    }
    return *known;
}

step::Weights Way::held(const step::Chunk& chunk) {
    step::Weights found = held_of(std::nullopt, chunk.has_embedding, chunk.has_head);
    for (const step::LayerCount& layer : chunk.layers) {
        found.add(held_of(layer.kind, false, false), static_cast<double>(layer.count));
    }
    return found;
}

StageFigures Way::figures(const step::Chunk& chunk) {
    const step::Passes passes = timer_.chunk(chunk);
    StageFigures found{passes.forward.total_s(), passes.backward.total_s()};
    const step::Weights weights = held(chunk);
    found.optimizer_s = updates_.optimizer_s(weights);
    if (plan_.zero_stage != 3) found.reduce_s = static_cast<double>(rounds()) * updates_.reduce_s(weights);
    if (plan_.zero_stage == 1 || plan_.zero_stage == 2) found.gather_s = updates_.gather_s(weights);
    return found;
}

double Way::passes_s(const step::Chunk& chunk) {
    const step::Passes passes = timer_.chunk(chunk);
    return passes.forward.total_s() + passes.backward.total_s();
}

step::Bytes Way::memory(const step::Chunk& chunk, double in_flight) const {
    step::Layout layout;
    layout.types.push_back(chunk);
    layout.stages = {{0}};
    const step::Weights weights = step::stage_weights(sizes_, layout, {0}).front();
    return step::StageMemory(sizes_, layout, groups_).of({0}, weights, in_flight);
}

const StagePrice& Way::stage(const Part& part, std::int64_t in_flight) {
    const auto [known, is_new] = stages_.try_emplace({part, in_flight});
    if (is_new) {
        const step::Chunk chunk = chunk_of(question_, plan_, part);
        StagePrice& own = known->second;
        own.figures = figures(chunk);
        own.memory = memory(chunk, static_cast<double>(in_flight));
        own.held_bytes = std::accumulate(own.memory.begin(), own.memory.end(), 0.0);
    }
    return known->second;
}

double Way::send_s(std::int64_t stages, std::int64_t stage_gpus) {
    const auto [known, is_new] = sends_.emplace(std::pair{stages, stage_gpus}, 0.0);
    if (is_new) {
        known->second = send_s(links(stages, stage_gpus));
    }
    return known->second;
}

step::Links Way::links(std::int64_t stages, std::int64_t stage_gpus) const {
    step::Cluster cluster = cluster_;
    cluster.tiers.back().npus = std::max(cluster.tiers.back().npus, stages * stage_gpus);
    const step::Group group{stages, stage_gpus, 0, 0, stages * stage_gpus};
    return step::Links::of(group, cluster, step::Algorithm::kAuto, synthesizer_);
}

double Way::far_send_s(double gpu_gbps) const {
    step::Cluster cluster = cluster_;
    const std::int64_t stride = std::max(node_gpus_, gpus());
    cluster.tiers.back().npus = std::max(cluster.tiers.back().npus, 2 * stride);
    step::Links links =
        step::Links::of({2, stride, 0, 0, 2 * stride}, cluster, step::Algorithm::kAuto, synthesizer_);
    if (gpu_gbps > 0) {
        links.message_bandwidth = std::min(links.message_bandwidth, gpu_gbps * 1e9 * step::kBetweenNodes);
    }
    return links.send_s(message_bytes());
}

step::Chunk chunk_of(const Question& question, const step::Plan& plan, const Part& part) {
    step::Chunk chunk = step::chunk_of(*question.model, part.first, part.end, part.is_first, part.is_last);
    if (plan.recompute != step::Recompute::kNone) chunk.repeated = chunk.count();
    return chunk;
}

bool Ways::is_possible(const Question& question, const StageChoice& choice, const Rounds& rounds,
                       bool is_pipelined) {
    const step::Plan& mode = question.modes[choice.type][choice.mode];
    if (rounds.sequences % choice.dp != 0) return false;
    const std::int64_t most = question.most_micro_batch;
    if (most != 0 && rounds.sequences / choice.dp > most) return false;
    if (choice.dp == 1 && mode.zero_stage >= 2) return false;  // nothing is sharded
    // Under one-forward-one-backward no second micro-batch can hide exchanges.
    return !is_pipelined || !mode.overlap_ep;
}

const std::vector<step::Links>& Ways::links(const Way& way) {
    std::vector<step::Links>& found = links_[{way.type(), way.gpus()}];
    if (!found.empty()) return found;
    step::Links fastest = way.links(kMostStages, way.gpus());
    found.assign(kLevels, fastest);
    for (std::int64_t stages = kMostStages - 1; stages >= 2; --stages) {
        const step::Links own = way.links(stages, way.gpus());
        fastest.latency_s = std::min(fastest.latency_s, own.latency_s);
        fastest.message_bandwidth = std::max(fastest.message_bandwidth, own.message_bandwidth);
        found[level_of(stages)] = fastest;
    }
    return found;
}

Way* Ways::find(const StageChoice& choice, const Rounds& rounds, bool is_pipelined) {
    if (!is_possible(question_, choice, rounds, is_pipelined)) return nullptr;
    const auto [known, is_new] =
        known_.emplace(Key{choice.type, choice.mode, choice.dp, rounds, is_pipelined}, nullptr);
    if (is_new) {
        try {
            known->second = std::make_unique<Way>(question_, choice, rounds, is_pipelined);
        } catch (const step::Infeasible&) {  // stays none
        }
    }
    return known->second.get();
}

}  // namespace dse::planner::steps
