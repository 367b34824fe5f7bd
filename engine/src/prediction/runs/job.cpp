// The interval, the choice without a spare, and the parts of a run.
#include "prediction/runs/job.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/error.hpp"

namespace dse::prediction::runs {

namespace {

constexpr double kMostTotal = 1000.0;  // a run of more times its steps makes no progress
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr Bounds kNoBounds{kUnknown, kUnknown, kUnknown};

/// The share of replicas that 1, 2, ... lost nodes leave, as long as one is left.
std::vector<double> replica_speeds(std::int64_t dp, const Cluster& cluster) {
    std::vector<double> found;
    for (std::int64_t lost = 1; lost < cluster.nodes(); ++lost) {
        const std::int64_t left = (cluster.npus() - lost * cluster.npus_per_node()) * dp / cluster.npus();
        if (left <= 0) break;
        found.push_back(static_cast<double>(left) / static_cast<double>(dp));
    }
    return found;
}

}  // namespace

Job::Job(const Asked& asked, const Cluster& cluster, double checkpoint_bytes, std::int64_t dp,
         const std::optional<std::vector<double>>& speeds)
    : elastic_(asked.elastic),
      facility_(asked.facility),
      asked_interval_s_(asked.interval_s),
      stop_share_(asked.stop_share),
      npus_(static_cast<double>(cluster.npus())),
      peak_tflops_(cluster.accelerator.peak("bf16")),
      board_power_w_(cluster.accelerator.board_power_w),
      times_(checkpoint_times(checkpoint_bytes, cluster, asked.store)) {
    if (peak_tflops_ == 0) peak_tflops_ = cluster.accelerator.peak("fp16");
    const Reliability& reliability = asked.reliability;
    const auto [low, high] = bounds_of(reliability, cluster);
    classes_ = {classes_of(reliability, cluster, times_, 1.0), classes_of(reliability, cluster, times_, low),
                classes_of(reliability, cluster, times_, high)};
    if (asked.spares) {
        const double share = asked.spares_share * npus_ / static_cast<double>(cluster.npus_per_node());
        spares_ = *asked.spares + static_cast<std::int64_t>(std::ceil(share));
    }
    const auto shops = [&](const Spares& spares) {
        std::array<Shop, 3> found;
        for (std::size_t i = 0; i < found.size(); ++i) found[i] = repair_shop(classes_[i], spares);
        return found;
    };
    Spares waiting{std::max<std::int64_t>(spares_, 0), reliability.repair_s, {}, 0.0};
    shops_[kWaits] = asked.spares ? shops(waiting) : std::array<Shop, 3>{};
    if (elastic_ != Elastic::kWait) {
        if (!asked.spares) {
            const std::string name = elastic_ == Elastic::kBest ? "best" : "shrink";
            throw InputError("elastic=" + name +
                             " has no effect where a failed node is replaced at once: write spares=0");
        }
        waiting.speeds = speeds ? *speeds : replica_speeds(dp, cluster);
        waiting.reconfigure_s = asked.reconfigure_s.value_or(reliability.restart_s);
        if (!waiting.speeds.empty()) shops_[kShrinks] = shops(waiting);
    }
    if (!asked_interval_s_)
        best_interval_s_ =
            best_interval_s(times_.checkpoints, classes(), std::max(1.0, times_.checkpoints.writing_s));
}

/// The best interval in whole steps, as checkpoints are between them, not below the shortest. With copies in
/// storage one step may save one of the stretches in which such a copy is written.
double Job::whole_steps_s(double shortest_s, double step_s) const {
    const double least = std::ceil(shortest_s / step_s), near = best_interval_s_ / step_s;
    if (!times_.near) return std::max(std::nearbyint(near), least) * step_s;  // halves to even
    const double fewer_s = std::max(std::floor(near), least) * step_s;
    const double more_s = std::max(std::ceil(near), least) * step_s;
    const auto total = [&](double interval_s) {
        return expected(interval_s, times_.checkpoints, classes()).total();
    };
    return total(more_s) < total(fewer_s) ? more_s : fewer_s;
}

double Job::total_s(double step_s, std::int64_t steps, double total) const {
    return static_cast<double>(steps) * step_s * total * (1 + stop_share_);
}

RunFigures Job::run(const Step& step, const Length& length) const {
    RunFigures run;
    run.time_s = run.energy_mwh = kNoBounds;
    run.choices_s = {kUnknown, kUnknown};
    const auto refused = [&](Problem problem) {
        run.problem = problem;
        return run;
    };
    if (elastic_ == Elastic::kShrink && !shops_[kShrinks]) return refused(Problem::kNoReplica);
    run.shortest_s = std::max(step.step_s, times_.checkpoints.writing_s);
    if (asked_interval_s_ && *asked_interval_s_ < run.shortest_s) return refused(Problem::kShortInterval);
    run.interval_s = asked_interval_s_ ? *asked_interval_s_ : whole_steps_s(run.shortest_s, step.step_s);
    const auto at = [&](std::size_t choice, std::size_t end) {
        return expected(run.interval_s, times_.checkpoints, classes_[end], (*shops_[choice])[end]);
    };
    const Expected waits = at(kWaits, kMiddle);
    Expected found = waits;
    run.choices_s[kWaits] = total_s(step.step_s, length.steps, waits.total());
    if (shops_[kShrinks]) {
        const Expected shrinks = at(kShrinks, kMiddle);
        run.choices_s[kShrinks] = total_s(step.step_s, length.steps, shrinks.total());
        run.shrinks = elastic_ == Elastic::kShrink || shrinks.total() < waits.total();
        if (run.shrinks) found = shrinks;
    }
    if (!(found.total() <= kMostTotal)) return refused(Problem::kNoProgress);
    const auto steps = static_cast<double>(length.steps);
    const double work_s = steps * step.step_s;
    run.time_s.value = total_s(step.step_s, length.steps, found.total());
    if (!std::isnan(step.low_s)) {
        const std::size_t choice = run.shrinks ? kShrinks : kWaits;
        run.time_s.low = total_s(step.low_s, length.steps, at(choice, kLow).total());
        run.time_s.high = total_s(step.high_s, length.steps, at(choice, kHigh).total());
    }
    run.parts_s = {steps * step.compute_s,
                   steps * step.bubble_s,
                   steps * (step.step_s - step.compute_s - step.bubble_s),
                   work_s * found.checkpoints,
                   work_s * found.lost,
                   work_s * found.recovery,
                   work_s * found.waiting,
                   work_s * found.shrunk,
                   std::max(0.0, run.time_s.value - work_s * found.total())};
    run.effective_ratio = work_s / run.time_s.value;
    run.goodput = length.step_flops * steps / (run.time_s.value * peak_tflops_ * npus_ * 1e12);
    run.failures = found.failures * work_s;
    if (board_power_w_)
        run.energy_mwh = energy_of(run.parts_s, run.time_s, facility_, *board_power_w_, npus_);
    return run;
}

Columns Job::columns(const Step& step, const Length& length, double price) const {
    const RunFigures run = this->run(step, length);
    Columns found;
    found.fill(kUnknown);
    found.back() = static_cast<double>(run.problem);
    if (run.problem != Problem::kNone) return found;
    const double hours = run.time_s.value / 3600 * npus_;
    return {run.time_s.value,  run.time_s.low, run.time_s.high, 100 * run.effective_ratio,
            100 * run.goodput, run.failures,   price * hours,   run.energy_mwh.value,
            found.back()};
}

}  // namespace dse::prediction::runs
