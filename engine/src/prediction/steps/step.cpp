#include "prediction/steps/step.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace dse::prediction {

namespace {

constexpr std::int64_t kMostOperations = std::int64_t{1} << 23;

/// A figure of each chunk of each type of stage.
template <typename Of>
std::vector<double> of_chunks(const std::vector<std::vector<Weights>>& stages, Of of) {
    std::vector<double> found;
    found.reserve(stages.size() * stages.front().size());
    for (const auto& stage : stages) {
        for (const Weights& own : stage) found.push_back(of(own));
    }
    return found;
}

}  // namespace

Step::Step(const Model& model, const Plan& plan, const Cluster& cluster, const Setting& setting,
           Shared& shared)
    : model_(model),
      plan_(plan),
      setting_(setting),
      shared_(shared),
      schedule_(setting.schedules[plan.schedule]),
      sizes_(model, plan, setting.frameworks[plan.framework]),
      groups_(groups_of(plan)),
      timer_(sizes_, cluster, groups_, setting.synthesizer, shared.links),
      updates_(sizes_, groups_, timer_) {
    listed_ = plan.stages->listed;
    if (plan.stages->rule == StageRule::kBalanced) listed_ = balanced_layers(sizes_, timer_, shared);
    const std::vector<std::int64_t> counts = part_layers(model, plan, listed_);
    const std::int64_t repeated = plan.recompute == Recompute::kNone ? -1 : plan.recompute_layers;
    layout_ = &shared.layouts.of([&] { return layout_of(model, plan, counts, schedule_.is_v_shaped); },
                                 &model, plan.pp, schedule_.is_v_shaped, repeated, counts);
}

void Step::time() {
    if (pipeline_ != nullptr) return;
    micro_batches_ = prediction::micro_batches(model_, plan_);
    std::vector<StageTimes> times;  // by type of chunk
    passes_.reserve(layout_->types.size());
    times.reserve(layout_->types.size());
    for (const Chunk& type : layout_->types) {
        const Passes& own = passes_.emplace_back(timer_.chunk(type));
        times.push_back(
            {own.forward.total_s(), own.backward.total_s(), schedule_.splits_backward ? own.weight_s : 0.0});
    }
    for (const auto& chunks : layout_->distinct_stages) {
        weights_.push_back(stage_weights(sizes_, *layout_, chunks));
        Weights held;
        for (const Weights& own : weights_.back()) held.add(own);
        held_.push_back(held);
    }
    if (plan_.pp * plan_.chunks * micro_batches_ > kMostOperations) {
        throw Infeasible{std::to_string(plan_.pp) + " stages x " + std::to_string(plan_.chunks) +
                         " chunks x " + std::to_string(micro_batches_) +
                         " micro-batches are more operations than the 8,388,608 that a step may have"};
    }
    if (plan_.pp > 1) {  // each of tp ranks sends a share (Narayanan et al. 2021, 4.1)
        send_s_ = timer_.links(GroupAxis::kPp).send_s(2 * sizes_.tokens * sizes_.d_model / sizes_.tp);
    }
    pipeline_ = &shared_.pipelines.of([&] { return pipeline(times); }, layout_, plan_.schedule,
                                      micro_batches_, times, send_s_);
}

std::shared_ptr<const Order> Step::order() const {
    return setting_.orders.order(schedule_, plan_.pp, plan_.chunks, micro_batches_);
}

Pipeline Step::pipeline(const std::vector<StageTimes>& times) const {
    Pipeline found;
    for (const auto& stage : layout_->stages) {
        double busy = 0.0;
        for (const std::uint32_t type : stage) {
            found.chunks.push_back(times[type]);
            busy += times[type].forward_s + times[type].backward_s;
        }
        found.busy_s.push_back(static_cast<double>(micro_batches_) * busy);
    }
    const std::vector<double> sends_s(layout_->stages.size(), send_s_);
    const auto of_passes = order();
    found.in_flight = of_passes->in_flight;
    found.times = pipeline_times(*of_passes, found.chunks, schedule_.splits_backward, sends_s);
    return found;
}

std::size_t Step::busiest() const {
    const double most_s = *std::max_element(busy_s().begin(), busy_s().end()) * (1 - 1e-12);
    std::size_t busiest = 0;
    while (busy_s()[busiest] < most_s) ++busiest;
    return busiest;
}

Prediction Step::prediction() {
    time();
    Prediction found;
    const std::size_t busiest_stage = busiest();
    const auto count = static_cast<double>(micro_batches_);
    for (const std::uint32_t type : layout_->stages[busiest_stage]) {
        Parts both = passes_[type].forward;
        both.add(passes_[type].backward);
        found.parts.add(both, count);
    }
    const double bubble = timed().silent_s - busy_s()[busiest_stage];
    found.parts[StepPart::kPipelineBubble] += bubble;
    found.parts[StepPart::kMessages] += timed().makespan_s - timed().silent_s;
    found.parts[StepPart::kDp] += exposed_s();
    found.parts[StepPart::kOptimizer] += optimizer_s();
    found.bubble_share = bubble / timed().silent_s;
    found.memory = memory();
    return found;
}

double Step::scattered_s() {
    const double rounds = plan_.zero_stage == 2 ? static_cast<double>(micro_batches_) : 1.0;
    const std::vector<double> reduced =
        of_chunks(weights_, [&](const Weights& own) { return rounds * updates_.reduce_s(own); });
    double last = 0.0;
    std::vector<std::size_t> chunks(static_cast<std::size_t>(plan_.chunks));
    for (std::size_t stage = 0; stage < layout_->stages.size(); ++stage) {
        const double* complete = timed().gradients_s.data() + stage * chunks.size();
        const double* taken = reduced.data() + layout_->stage_types[stage] * chunks.size();
        const StageTimes* own = times().data() + stage * chunks.size();
        std::iota(chunks.begin(), chunks.end(), std::size_t{0});
        std::sort(chunks.begin(), chunks.end(), [&](std::size_t one, std::size_t other) {
            return std::pair{complete[one], one} < std::pair{complete[other], other};
        });
        double end = plan_.overlap_dp ? 0.0 : timed().finish_s[stage];
        for (const std::size_t chunk : chunks) {
            if (!plan_.overlap_dp) {
                end += taken[chunk];
                continue;
            }
            const double last_s = schedule_.splits_backward ? own[chunk].weight_s : own[chunk].backward_s;
            end = reduced_at_s(end, complete[chunk], rounds * last_s, taken[chunk]);
        }
        last = std::max(last, end);
    }
    return std::max(0.0, last - timed().makespan_s);
}

double Step::gathered_s() {
    if (plan_.zero_stage == 0) return 0.0;
    const std::vector<double> gathered =
        of_chunks(weights_, [&](const Weights& own) { return updates_.gather_s(own); });
    const auto chunks = static_cast<std::size_t>(plan_.chunks);
    const auto batches = static_cast<double>(std::min(plan_.pp, micro_batches_));
    double exposed = 0.0, filled = 0.0;
    for (std::size_t stage = 0; stage < layout_->stages.size(); ++stage) {
        const double* ones = gathered.data() + layout_->stage_types[stage] * chunks;
        const StageTimes* own = times().data() + stage * chunks;
        double taken = 0.0, hidden = filled;
        for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
            taken += ones[chunk];
            const double forward = own[chunk].forward_s;
            exposed = std::max(exposed, gather_seen_s(taken, ones[chunk], hidden, forward, plan_.overlap_dp));
            hidden += batches * forward;
        }
        filled += own[0].forward_s;
    }
    return exposed;
}

double Step::optimizer_s() const {
    double most = 0.0;
    for (const Weights& held : held_) most = std::max(most, updates_.optimizer_s(held));
    return most;
}

Bytes Step::memory(std::size_t stage) const { return memory(StageMemory(sizes_, *layout_, groups_), stage); }

Bytes Step::memory(const StageMemory& of_stages, std::size_t stage) const {
    return of_stages.of(layout_->distinct_stages[layout_->stage_types[stage]], held(stage),
                        static_cast<double>(pipeline_->in_flight[stage]));
}

Bytes Step::memory() const {
    // Of stages that are alike, the one that holds most is fullest.
    const std::vector<std::int64_t>& in_flight = pipeline_->in_flight;
    std::vector<std::size_t> fullest_of(layout_->distinct_stages.size(), layout_->stages.size());
    for (std::size_t stage = 0; stage < layout_->stages.size(); ++stage) {
        std::size_t& known = fullest_of[layout_->stage_types[stage]];
        const bool is_new = known == layout_->stages.size();
        if (is_new || in_flight[stage] > in_flight[known]) known = stage;
    }
    const StageMemory of_stages(sizes_, *layout_, groups_);
    Bytes fullest{};
    double largest = -1.0;
    for (const std::size_t stage : fullest_of) {
        const Bytes found = memory(of_stages, stage);
        const double total = std::accumulate(found.begin(), found.end(), 0.0);
        if (total > largest) {
            largest = total;
            fullest = found;
        }
    }
    return fullest;
}

}  // namespace dse::prediction
