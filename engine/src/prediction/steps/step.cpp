#include "prediction/steps/step.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace dse::prediction {

namespace {

constexpr std::int64_t kMostOperations = std::int64_t{1} << 23;

}  // namespace

Step::Step(const Model& model, const Plan& plan, const Cluster& cluster, const Setting& setting)
    : model_(model),
      plan_(plan),
      setting_(setting),
      schedule_(setting.schedules[plan.schedule]),
      sizes_(model, plan, setting.frameworks[plan.framework]),
      groups_(groups_of(plan)),
      timer_(sizes_, cluster, groups_, setting.synthesizer),
      updates_(sizes_, groups_, timer_) {
    listed_ = plan.stages->listed;
    if (plan.stages->rule == StageRule::kBalanced) listed_ = balanced_layers(sizes_, timer_);
    layout_ = layout_of(model, plan, listed_, schedule_.is_v_shaped);
}

void Step::time() {
    if (order_ != nullptr) return;
    micro_batches_ = prediction::micro_batches(model_, plan_);
    for (const Chunk& type : layout_.types) passes_.push_back(timer_.chunk(type));
    for (const auto& chunks : layout_.distinct_stages) {
        weights_.push_back(stage_weights(sizes_, layout_, chunks));
        Weights held;
        for (const Weights& own : weights_.back()) held.add(own);
        held_.push_back(held);
    }
    for (const auto& stage : layout_.stages) {
        double busy = 0.0;
        for (const std::uint32_t type : stage) {
            const Passes& own = passes_[type];
            times_.push_back({own.forward.total_s(), own.backward.total_s(),
                              schedule_.splits_backward ? own.weight_s : 0.0});
            busy += times_.back().forward_s + times_.back().backward_s;
        }
        busy_s_.push_back(static_cast<double>(micro_batches_) * busy);
    }
    if (plan_.pp * plan_.chunks * micro_batches_ > kMostOperations) {
        throw Infeasible{std::to_string(plan_.pp) + " stages x " + std::to_string(plan_.chunks) +
                         " chunks x " + std::to_string(micro_batches_) +
                         " micro-batches are more operations than the 8,388,608 that a step may have"};
    }
    order_ = setting_.orders.order(schedule_, plan_.pp, plan_.chunks, micro_batches_);
    silent_ = pipeline_times(*order_, times_, schedule_.splits_backward, 0.0);
    if (plan_.pp > 1) {  // each of tp ranks sends a share (Narayanan et al. 2021, 4.1)
        send_s_ = timer_.links(GroupAxis::kPp).send_s(2 * sizes_.tokens * sizes_.d_model / sizes_.tp);
    }
    timed_ = send_s_ != 0.0 ? pipeline_times(*order_, times_, schedule_.splits_backward, send_s_) : silent_;
}

std::size_t Step::busiest() const {
    const double most_s = *std::max_element(busy_s_.begin(), busy_s_.end()) * (1 - 1e-12);
    std::size_t busiest = 0;
    while (busy_s_[busiest] < most_s) ++busiest;
    return busiest;
}

Prediction Step::prediction() {
    time();
    Prediction found;
    const std::size_t busiest_stage = busiest();
    const auto count = static_cast<double>(micro_batches_);
    for (const std::uint32_t type : layout_.stages[busiest_stage]) {
        Parts both = passes_[type].forward;
        both.add(passes_[type].backward);
        found.parts.add(both, count);
    }
    const double bubble = silent_.makespan_s - busy_s_[busiest_stage];
    found.parts[StepPart::kPipelineBubble] += bubble;
    found.parts[StepPart::kMessages] += timed_.makespan_s - silent_.makespan_s;
    found.parts[StepPart::kDp] += exposed_s();
    found.parts[StepPart::kOptimizer] += optimizer_s();
    found.bubble_share = bubble / silent_.makespan_s;
    found.memory = memory();
    return found;
}

double Step::scattered_s() {
    const double rounds = plan_.zero_stage == 2 ? static_cast<double>(micro_batches_) : 1.0;
    std::vector<std::vector<double>> reduced;
    for (const auto& stage : weights_) {
        reduced.emplace_back();
        for (const Weights& own : stage) reduced.back().push_back(rounds * updates_.reduce_s(own));
    }
    double last = 0.0;
    std::vector<std::size_t> chunks(static_cast<std::size_t>(plan_.chunks));
    for (std::size_t stage = 0; stage < layout_.stages.size(); ++stage) {
        const double* complete = timed_.gradients_s.data() + stage * chunks.size();
        std::iota(chunks.begin(), chunks.end(), std::size_t{0});
        std::stable_sort(chunks.begin(), chunks.end(),
                         [&](std::size_t one, std::size_t other) { return complete[one] < complete[other]; });
        double end = plan_.overlap_dp ? 0.0 : timed_.finish_s[stage];
        for (const std::size_t chunk : chunks) {
            const double taken = reduced[layout_.stage_types[stage]][chunk];
            if (!plan_.overlap_dp) {
                end += taken;
                continue;
            }
            const Passes& own = passes(stage, chunk);
            const double last_s = schedule_.splits_backward ? own.weight_s : own.backward.total_s();
            end = reduced_at_s(end, complete[chunk], rounds * last_s, taken);
        }
        last = std::max(last, end);
    }
    return std::max(0.0, last - timed_.makespan_s);
}

double Step::gathered_s() {
    if (plan_.zero_stage == 0) return 0.0;
    double exposed = 0.0, filled = 0.0;
    for (std::size_t stage = 0; stage < layout_.stages.size(); ++stage) {
        double taken = 0.0, hidden = filled;
        const std::vector<Weights>& own = weights(stage);
        for (std::size_t chunk = 0; chunk < own.size(); ++chunk) {
            const double one = updates_.gather_s(own[chunk]);
            taken += one;
            const double forward = passes(stage, chunk).forward.total_s();
            const double seen = gather_seen_s(taken, one, hidden, forward, plan_.overlap_dp);
            exposed = std::max(exposed, seen);
            hidden += static_cast<double>(std::min(plan_.pp, micro_batches_)) * forward;
        }
        filled += passes(stage, 0).forward.total_s();
    }
    return exposed;
}

double Step::optimizer_s() const {
    double most = 0.0;
    for (const Weights& held : held_) most = std::max(most, updates_.optimizer_s(held));
    return most;
}

Bytes Step::memory(std::size_t stage) const {
    const std::uint32_t type = layout_.stage_types[stage];
    return stage_bytes(sizes_, layout_, layout_.distinct_stages[type], held_[type],
                       static_cast<double>(order_->in_flight[stage]), groups_);
}

Bytes Step::memory() const {
    // Of stages that are alike, the one that holds most is fullest.
    std::vector<std::size_t> fullest_of(layout_.distinct_stages.size(), layout_.stages.size());
    for (std::size_t stage = 0; stage < layout_.stages.size(); ++stage) {
        std::size_t& known = fullest_of[layout_.stage_types[stage]];
        const bool is_new = known == layout_.stages.size();
        if (is_new || order_->in_flight[stage] > order_->in_flight[known]) known = stage;
    }
    Bytes fullest{};
    double largest = -1.0;
    for (const std::size_t stage : fullest_of) {
        const Bytes found = memory(stage);
        const double total = std::accumulate(found.begin(), found.end(), 0.0);
        if (total > largest) {
            largest = total;
            fullest = found;
        }
    }
    return fullest;
}

}  // namespace dse::prediction
