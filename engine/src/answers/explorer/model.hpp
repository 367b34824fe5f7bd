// A model as its canonical JSON says it, and what a strategy makes of it (dse/inputs/strategies/native.py).
#pragma once

#include <cstdint>
#include <string>

#include "inputs/files/json.hpp"
#include "simulation/workloads/model_graph.hpp"
#include "simulation/workloads/strategy.hpp"

namespace dse::explorer {

struct Model {
    std::string name;
    workload::ModelSpec spec;  ///< as generators take it, but for micro-batches
    bool is_realistic = false;
    std::int64_t micro_batches = 0;  ///< 0: what the strategy makes of it

    /// Number of micro-batches under these degrees.
    std::int64_t micro_batches_on(const workload::StrategySpec& strategy) const;

    /// The model as the generator takes it.
    workload::ModelSpec under(const workload::StrategySpec& strategy) const;
};

/// Reads what dse.studies.points.inputs.model_json writes. Throws InputError for a value that is not allowed,
/// and for a model of which traces show nothing.
Model model_of_json(const config::JsonValue& object);

}  // namespace dse::explorer
