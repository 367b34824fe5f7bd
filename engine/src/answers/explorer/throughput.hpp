// Tokens per second and utilisation from the wall time of a step (dse/studies/points/utilization.py).
#pragma once

#include <cstdint>

#include "answers/explorer/model.hpp"
#include "answers/explorer/system.hpp"

namespace dse::explorer {

/// NaN: no figure can be trusted.
struct Throughput {
    double mfu_pct;
    double tokens_per_s;
};

/// Hundred times the operations of one step of the model: those of its graph on one NPU without recompute.
/// Throws InputError as Transformer does.
double hundred_model_operations(const Model& model);

/// Of a point whose shards are whole, or else cut (`is_fractional`).
Throughput throughput(const Model& model, double hundred_operations, const System& system,
                      std::uint64_t wall_time_ns, bool is_fractional);

}  // namespace dse::explorer
