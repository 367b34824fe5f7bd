// The failures and checkpoints of a job, which all of its steps share, and the run of each step.
#pragma once

#include <array>
#include <string_view>

#include "prediction/runs/machine.hpp"

namespace dse::prediction::runs {

/// Parts of a run by their cause; they sum to its time.
inline constexpr std::array<std::string_view, 9> kParts = {
    "compute",      "pipeline bubble",       "exposed communication", "checkpoints",
    "lost work",    "detection and restart", "waiting for spares",    "fewer replicas",
    "planned stops"};

/// Figures that are not known are NaN.
struct Bounds {
    double value = 0.0, low = 0.0, high = 0.0;
};

/// A predicted step: its seconds, those in which its NPUs compute and those of the pipeline's bubble, and the
/// ends of its 80 %, NaN where nothing was measured.
struct Step {
    double step_s = 0.0, compute_s = 0.0, bubble_s = 0.0, low_s = 0.0, high_s = 0.0;
};

/// So many steps, of so many operations of the model each.
struct Length {
    std::int64_t steps = 0;
    double step_flops = 0.0;
};

/// Why a run has no figures: no replica is left, an interval is too short, or hardly any stretch lasts long
/// enough.
enum class Problem : std::uint8_t { kNone, kNoReplica, kShortInterval, kNoProgress };

/// `choices_s` are the times of waiting and of shrinking, NaN where a job has no choice.
struct RunFigures {
    Problem problem = Problem::kNone;
    bool shrinks = false;
    double interval_s = 0.0, shortest_s = 0.0, failures = 0.0, effective_ratio = 0.0, goodput = 0.0;
    Bounds time_s, energy_mwh;
    std::array<double, kParts.size()> parts_s{};
    std::array<double, 2> choices_s{};
};

/// The columns of a run in studies and pages; NaN where a figure is unknown or there is a problem.
inline constexpr std::array<std::string_view, 9> kColumns = {
    "run_time_s", "run_time_low_s", "run_time_high_s", "run_effective_pct", "run_goodput_pct", "run_failures",
    "run_cost",   "run_energy_mwh", "problem"};
using Columns = std::array<double, kColumns.size()>;

class Job {
public:
    /// `speeds` are those with 1, 2, ... nodes fewer where they are known, else those of fewer replicas.
    /// Throws InputError where the machine or the keys cannot have such a run.
    Job(const Asked& asked, const Cluster& cluster, double checkpoint_bytes, std::int64_t dp,
        const std::optional<std::vector<double>>& speeds = {});

    RunFigures run(const Step& step, const Length& length) const;
    /// The same as columns; `price` is that of an hour of an NPU.
    Columns columns(const Step& step, const Length& length, double price) const;

    const CheckpointTimes& times() const { return times_; }
    const std::vector<FailureClass>& classes() const { return classes_[kMiddle]; }
    std::int64_t spares() const { return spares_; }  ///< -1: a failed node is replaced at once

private:
    static constexpr std::size_t kMiddle = 0, kLow = 1, kHigh = 2, kWaits = 0, kShrinks = 1;

    double whole_steps_s(double shortest_s, double step_s) const;
    double total_s(double step_s, std::int64_t steps, double total) const;

    Elastic elastic_;
    Facility facility_;
    std::optional<double> asked_interval_s_;
    double stop_share_ = 0.0;
    double npus_ = 0.0, peak_tflops_ = 0.0;
    std::optional<double> board_power_w_;
    std::int64_t spares_ = -1;
    CheckpointTimes times_;
    std::array<std::vector<FailureClass>, 3> classes_;         // as expected, and at both ends
    std::array<std::optional<std::array<Shop, 3>>, 2> shops_;  // of waiting and shrinking
    double best_interval_s_ = 0.0;
};

/// Energy of the facility in MWh; its bounds have time and power at the same end.
Bounds energy_of(const std::array<double, kParts.size()>& parts_s, const Bounds& time_s,
                 const Facility& facility, double board_power_w, double npus);

}  // namespace dse::prediction::runs
