#include "planner/steps/price.hpp"

#include <algorithm>

namespace dse::planner::steps {

namespace {

/// The time of a message between two stages, the slower side of it.
double send_s(const Question& question, Way& from, Way& to, std::int64_t stages) {
    if (from.type() != to.type()) {
        const double gbps = question.gpu_gbps(from.type(), to.type());
        return std::max(from.far_send_s(gbps), to.far_send_s(gbps));
    }
    return std::max(from.send_s(stages, from.gpus()), to.send_s(stages, to.gpus()));
}

/// The time of reducing gradients after the pipeline, on the stage that ends last.
double scattered_s(const std::vector<Way*>& ways, const std::vector<StagePrice>& stages,
                   const step::PipelineTimes& times) {
    double last = 0.0;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const StageFigures& own = stages[i].figures;
        double end = times.finish_s[i] + own.reduce_s;
        if (ways[i]->plan().zero_stage == 3) {
            end = times.finish_s[i];
        } else if (ways[i]->plan().overlap_dp) {
            const double last_s = static_cast<double>(ways[i]->rounds()) * own.backward_s;
            end = step::reduced_at_s(0.0, times.gradients_s[i], last_s, own.reduce_s);
        }
        last = std::max(last, end);
    }
    return std::max(0.0, last - times.makespan_s);
}

/// The time of gathering updated weights that the first forward passes do not hide.
double gathered_s(const std::vector<Way*>& ways, const std::vector<StagePrice>& stages) {
    double exposed = 0.0, filled = 0.0;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const StageFigures& own = stages[i].figures;
        const bool overlaps = ways[i]->plan().overlap_dp;
        exposed = std::max(exposed,
                           step::gather_seen_s(own.gather_s, own.gather_s, filled, own.forward_s, overlaps));
        filled += own.forward_s;
    }
    return exposed;
}

}  // namespace

std::optional<Price> price(const Question& question, Ways& known, const MixedPlan& plan) {
    const std::size_t count = plan.stages.size();
    std::vector<Way*> ways;
    for (const StageChoice& choice : plan.stages) {
        ways.push_back(known.find(choice, plan.rounds, count > 1));
        if (ways.back() == nullptr) return std::nullopt;
    }
    const step::Setting& setting = *question.setting;
    const auto order = setting.orders.order(setting.schedules[ways[0]->plan().schedule],
                                            static_cast<std::int64_t>(count), 1, plan.rounds.count);
    Price found;
    std::vector<step::StageTimes> times;
    std::vector<double> sends(count, 0.0);
    std::int64_t first = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t end = first + plan.stages[i].layers;
        StagePrice own = ways[i]->stage({first, end, i == 0, i + 1 == count}, order->in_flight[i]);
        if (own.held_bytes > question.types[ways[i]->type()].memory_bytes) return std::nullopt;
        if (i + 1 < count) {
            own.send_s = sends[i] =
                send_s(question, *ways[i], *ways[i + 1], static_cast<std::int64_t>(count));
        }
        times.push_back({own.figures.forward_s, own.figures.backward_s, 0.0});
        found.optimizer_s = std::max(found.optimizer_s, own.figures.optimizer_s);
        found.stages.push_back(own);
        first = end;
    }
    const step::PipelineTimes timed = step::pipeline_times(*order, times, false, sends);
    found.pipeline_s = timed.silent_s;
    found.messages_s = timed.makespan_s - timed.silent_s;
    found.dp_s = scattered_s(ways, found.stages, timed) + gathered_s(ways, found.stages);
    found.step_s = found.pipeline_s + found.messages_s + found.dp_s + found.optimizer_s;
    return found;
}

}  // namespace dse::planner::steps
