// A training step's time and memory from its structure: blocks once, the pipeline, what overlaps.
#pragma once

#include <string>
#include <vector>

#include "prediction/kernels/kernels.hpp"
#include "prediction/links/links.hpp"
#include "prediction/memory/memory.hpp"
#include "prediction/pipeline/recurrence.hpp"
#include "prediction/steps/timer.hpp"

namespace dse::prediction {

/// A recipe of precision: the format of an accelerator's peaks.
struct Precision {
    std::string name, format;
    std::int64_t bits = 16;
};

/// The part of a batch that all plans share besides models and clusters.
struct Setting {
    std::vector<Precision> precisions;
    std::vector<Schedule> schedules;
    std::vector<Framework> frameworks;
    Orders& orders;
    const Synthesizer& synthesizer;
};

struct Shared;

struct Prediction {
    Parts parts;
    Bytes memory{};  ///< of the fullest stage
    double bubble_share = 0.0;
};

/// Throws Infeasible: the plan cannot run on the cluster.
void check(const Model& model, const Plan& plan, const Cluster& cluster, const Setting& setting);
/// The part of it that neither the cluster's size nor the pipeline decides.
void check_choices(const Model& model, const Plan& plan, const Cluster& cluster, const Setting& setting);
std::int64_t micro_batches(const Model& model, const Plan& plan);

/// Layers in a row with the seconds of both passes of a micro-batch, one by one and by kind; what the first
/// and the last stage take besides.
struct LayerRow {
    std::vector<double> layers, of_kind;
    double first = 0.0, last = 0.0;
};
LayerRow layer_row(const Sizes& sizes, Timer& timer);
/// Layers of each part of the pipeline that `stages=balanced` has. Throws Infeasible.
std::vector<std::int64_t> balanced_layers(const Sizes& sizes, Timer& timer, Shared& shared);

/// Throws Infeasible; `only_feasible` stops after the checks.
Prediction predict(const Model& model, const Plan& plan, const Cluster& cluster, const Setting& setting,
                   Shared& shared, bool only_feasible);

}  // namespace dse::prediction
