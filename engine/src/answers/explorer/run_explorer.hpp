// Training runs of predicted steps of one model on one cluster, as a page asks for them.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "prediction/runs/job.hpp"

namespace dse::explorer {

/// Figures of a step that a run depends on: seconds of it, of its computing, and of both ends of its 80 %;
/// bytes of the optimizer's states for a parameter, and replicas.
inline constexpr std::size_t kRunInputs = 6;

/// Finds the runs of steps; remembers the jobs that differ in their checkpoints or replicas.
class RunExplorer {
public:
    /// Parses `{"model", "cluster", "run", "steps", "step_flops", "price"}`: records of
    /// dse/prediction/steps/native_inputs.py and dse/prediction/runs/run.py; `price` is null where it is
    /// unknown. Throws InputError.
    explicit RunExplorer(std::string_view request);

    /// Rows of `prediction::runs::kColumns` for rows of `kRunInputs`.
    const std::vector<double>& runs(std::span<const double> steps);

private:
    const prediction::runs::Job& job(double optimizer_bytes, double dp);

    prediction::Model model_;
    prediction::Cluster cluster_;
    prediction::runs::Asked asked_;
    prediction::runs::Length length_;
    double price_ = 0.0;
    std::map<std::pair<double, double>, prediction::runs::Job> jobs_;
    std::vector<double> rows_;
};

}  // namespace dse::explorer
