// Predictions of the plans of one model on one cluster, as a page asks for them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "prediction/batch.hpp"
#include "prediction/steps/shared.hpp"

namespace dse::explorer {

/// The figures of a plan: parts of its time, its memory by category, share of the bubble, number of its
/// reason.
inline constexpr std::size_t kPlanFigures = prediction::kStepParts + prediction::kCategories + 2;

/// Predicts plans in batches; remembers schedules, layouts, links and pipelines from one to the next.
class PlanExplorer {
public:
    /// Parses `{"model", "cluster", "frameworks": {name: record}, "precisions": [[name, format, bits], ...],
    /// "texts"}`, with the records of dse/prediction/steps/native_inputs.py. Throws InputError.
    explicit PlanExplorer(std::string_view request);

    /// Figures of plans, rows of `prediction::kPlanColumns`; texts are numbers of those of the request.
    const std::vector<double>& predict(std::span<const std::int64_t> plans);

    /// Why plans of the last batch cannot run, by number.
    const std::vector<std::string>& reasons() const { return reasons_; }

private:
    prediction::Model model_;
    prediction::Cluster cluster_;
    std::vector<std::string> texts_;
    std::unique_ptr<prediction::Predictor> predictor_;
    prediction::Shared shared_;
    std::vector<double> figures_;
    std::vector<std::string> reasons_;
};

}  // namespace dse::explorer
