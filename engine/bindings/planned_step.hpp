// Bindings of one step in its pieces, for the module of the points.
#pragma once

#include <nanobind/nanobind.h>

#include "prediction/batch.hpp"

namespace dse::prediction {

/// Adds StepPredictor.pipeline and the class PlannedStep.
void bind_pieces(nanobind::module_& m, nanobind::class_<Predictor>& predictor);

}  // namespace dse::prediction
