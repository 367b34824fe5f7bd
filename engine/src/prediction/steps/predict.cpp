#include "prediction/steps/predict.hpp"

#include <algorithm>
#include <numeric>

namespace dse::prediction {

namespace {

/// Share of the gradients reduced after the last product: the last bucket has nothing to hide behind.
constexpr double kFirstBucket = 0.05;
constexpr std::int64_t kMostOperations = std::int64_t{1} << 23;

/// A step whose checks have passed; members are named as in dse/prediction/steps/predict.py.
class Step {
public:
    Step(const Model& model, const Plan& plan, const Cluster& cluster, const Setting& setting)
        : model_(model),
          plan_(plan),
          setting_(setting),
          schedule_(setting.schedules[plan.schedule]),
          sizes_(model, plan, setting.frameworks[plan.framework]),
          groups_(groups_of(plan)),
          timer_(sizes_, cluster, groups_, setting.synthesizer) {
        std::vector<std::int64_t> listed = plan.stages->listed;
        if (plan.stages->rule == StageRule::kBalanced) listed = balanced_layers(sizes_, timer_);
        layout_ = layout_of(model, plan, listed, schedule_.is_v_shaped);
    }

    Prediction prediction() {
        time();
        Prediction found;
        // Equal stages differ by rounding: the first of them.
        const double most_s = *std::max_element(busy_s_.begin(), busy_s_.end()) * (1 - 1e-12);
        std::size_t busiest = 0;
        while (busy_s_[busiest] < most_s) ++busiest;
        const auto count = static_cast<double>(micro_batches_);
        for (const std::uint32_t type : layout_.stages[busiest]) {
            Parts both = passes_[type].forward;
            both.add(passes_[type].backward);
            found.parts.add(both, count);
        }
        const double bubble = silent_.makespan_s - busy_s_[busiest];
        found.parts[StepPart::kPipelineBubble] += bubble;
        found.parts[StepPart::kMessages] += timed_.makespan_s - silent_.makespan_s;
        if (plan_.zero_stage != 3) found.parts[StepPart::kDp] += scattered_s() + gathered_s();
        double optimizer = 0.0;
        for (const Weights& held : held_) optimizer = std::max(optimizer, optimizer_s(held));
        found.parts[StepPart::kOptimizer] += optimizer;
        found.bubble_share = bubble / silent_.makespan_s;
        found.memory = memory();
        return found;
    }

private:
    const Links& links(GroupAxis axis) { return timer_.links(axis); }

    /// Times the pipeline without messages and with them.
    void time() {
        micro_batches_ = micro_batches(model_, plan_);
        for (const Chunk& type : layout_.types) passes_.push_back(timer_.chunk(type));
        for (const auto& chunks : layout_.distinct_stages) {
            weights_.push_back(stage_weights(sizes_, layout_, chunks));
            Weights held;
            for (const Weights& own : weights_.back()) held.add(own);
            held_.push_back(held);
        }
        std::vector<StageTimes> times;
        for (const auto& stage : layout_.stages) {
            double busy = 0.0;
            for (const std::uint32_t type : stage) {
                const Passes& own = passes_[type];
                times.push_back({own.forward.total_s(), own.backward.total_s(),
                                 schedule_.splits_backward ? own.weight_s : 0.0});
                busy += times.back().forward_s + times.back().backward_s;
            }
            busy_s_.push_back(static_cast<double>(micro_batches_) * busy);
        }
        if (plan_.pp * plan_.chunks * micro_batches_ > kMostOperations) {
            throw Infeasible{std::to_string(plan_.pp) + " stages x " + std::to_string(plan_.chunks) +
                             " chunks x " + std::to_string(micro_batches_) +
                             " micro-batches are more operations than the 8,388,608 that a step may have"};
        }
        const auto order = setting_.orders.order(schedule_, plan_.pp, plan_.chunks, micro_batches_);
        in_flight_ = order->in_flight;
        silent_ = pipeline_times(*order, times, schedule_.splits_backward, 0.0);
        double send_s = 0.0;
        if (plan_.pp > 1)
            send_s = links(GroupAxis::kPp).send_s(2 * sizes_.tokens * sizes_.d_model / sizes_.tp);
        timed_ = send_s != 0.0 ? pipeline_times(*order, times, schedule_.splits_backward, send_s) : silent_;
    }

    /// The time of reducing gradients that comes after the pipeline, on the stage that ends last.
    double scattered_s() {
        const double rounds = plan_.zero_stage == 2 ? static_cast<double>(micro_batches_) : 1.0;
        std::vector<std::vector<double>> reduced;
        for (const auto& stage : weights_) {
            reduced.emplace_back();
            for (const Weights& own : stage) reduced.back().push_back(rounds * reduce_s(own));
        }
        double last = 0.0;
        std::vector<std::size_t> chunks(static_cast<std::size_t>(plan_.chunks));
        for (std::size_t stage = 0; stage < layout_.stages.size(); ++stage) {
            const double* complete = timed_.gradients_s.data() + stage * chunks.size();
            std::iota(chunks.begin(), chunks.end(), std::size_t{0});
            std::stable_sort(chunks.begin(), chunks.end(), [&](std::size_t one, std::size_t other) {
                return complete[one] < complete[other];
            });
            double end = plan_.overlap_dp ? 0.0 : timed_.finish_s[stage];
            for (const std::size_t chunk : chunks) {
                const double taken = reduced[layout_.stage_types[stage]][chunk];
                if (!plan_.overlap_dp) {
                    end += taken;
                    continue;
                }
                const Passes& own = passes_[layout_.stages[stage][chunk]];
                const double last_s = schedule_.splits_backward ? own.weight_s : own.backward.total_s();
                const double begin = complete[chunk] - rounds * last_s;
                end = std::max(std::max(end, begin) + taken, complete[chunk] + kFirstBucket * taken);
            }
            last = std::max(last, end);
        }
        return std::max(0.0, last - timed_.makespan_s);
    }

    double reduce_s(const Weights& of) {
        const auto gradient = static_cast<double>(sizes_.framework.gradient_bytes);
        const Weights weights = of.trained();
        const Links &dense = links(GroupAxis::kDpCp), &experts = links(GroupAxis::kExpertDp);
        if (plan_.zero_stage == 0) {
            return dense.all_reduce_s(gradient * weights.dense) +
                   experts.all_reduce_s(gradient * weights.experts);
        }
        return dense.gather_s(gradient * weights.dense) + experts.gather_s(gradient * weights.experts);
    }

    /// The time of gathering weights (ZeRO-1 and 2) that the first forward passes do not hide.
    double gathered_s() {
        if (plan_.zero_stage == 0) return 0.0;
        const Links &dense = links(GroupAxis::kDpCp), &experts = links(GroupAxis::kExpertDp);
        double exposed = 0.0, filled = 0.0;
        for (std::size_t stage = 0; stage < layout_.stages.size(); ++stage) {
            double taken = 0.0, hidden = filled;
            const auto& weights = weights_[layout_.stage_types[stage]];
            for (std::size_t chunk = 0; chunk < weights.size(); ++chunk) {
                const Weights updated = weights[chunk].trained();
                const double one = dense.gather_s(2 * updated.dense) + experts.gather_s(2 * updated.experts);
                taken += one;
                const double forward = passes_[layout_.stages[stage][chunk]].forward.total_s();
                const double left =
                    plan_.overlap_dp ? std::max(kFirstBucket * one, taken - hidden - forward) : taken;
                exposed = std::max(exposed, left);
                hidden += static_cast<double>(std::min(plan_.pp, micro_batches_)) * forward;
            }
            filled += passes_[layout_.stages[stage][0]].forward.total_s();
        }
        return exposed;
    }

    /// Adam on the share of each rank, and the norm of all gradients that it holds.
    double optimizer_s(const Weights& held) {
        const Weights weights = held.trained();
        double own = weights.total();
        if (plan_.zero_stage != 0) {
            own = weights.dense / static_cast<double>(groups_.dp_cp.size) +
                  weights.experts / static_cast<double>(groups_.expert_dp.size);
        }
        const double kept = plan_.zero_stage >= 2 ? own : weights.total();
        const double memory = timer_.rates().memory,
                     rate = plan_.offloads_optimizer ? timer_.host_bytes_per_s() : memory;
        const auto gradient = static_cast<double>(sizes_.framework.gradient_bytes);
        return (26.0 + gradient) * own / rate + 2.0 * gradient * kept / memory;
    }

    Bytes memory() {
        // Of stages that are alike, the one that holds most is fullest.
        std::vector<std::int64_t> most(layout_.distinct_stages.size(), 0);
        for (std::size_t stage = 0; stage < layout_.stages.size(); ++stage) {
            most[layout_.stage_types[stage]] = std::max(most[layout_.stage_types[stage]], in_flight_[stage]);
        }
        Bytes fullest{};
        double largest = -1.0;
        for (std::size_t type = 0; type < most.size(); ++type) {
            const Bytes found = stage_bytes(sizes_, layout_, layout_.distinct_stages[type], held_[type],
                                            static_cast<double>(most[type]), groups_);
            const double total = std::accumulate(found.begin(), found.end(), 0.0);
            if (total > largest) {
                largest = total;
                fullest = found;
            }
        }
        return fullest;
    }

    const Model& model_;
    const Plan& plan_;
    const Setting& setting_;
    const Schedule& schedule_;
    Sizes sizes_;
    Groups groups_;
    Timer timer_;
    Layout layout_;
    std::int64_t micro_batches_ = 0;
    std::vector<Passes> passes_;                 // by type of chunk
    std::vector<std::vector<Weights>> weights_;  // by type of stage
    std::vector<Weights> held_;
    std::vector<double> busy_s_;
    std::vector<std::int64_t> in_flight_;
    PipelineTimes silent_, timed_;
};

}  // namespace

Prediction predict(const Model& model, const Plan& plan, const Cluster& cluster, const Setting& setting,
                   bool only_feasible) {
    check(model, plan, cluster, setting);
    Step step(model, plan, cluster, setting);
    return only_feasible ? Prediction{} : step.prediction();
}

}  // namespace dse::prediction
