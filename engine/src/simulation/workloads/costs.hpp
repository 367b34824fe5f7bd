// The costs of the operators of a model to a rank, without its graph.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "simulation/workloads/model_graph.hpp"

namespace dse::workload {

/// One operator of a block that computes.
struct OperatorCost {
    BlockKind block;
    std::string_view name;
    bool update;             ///< of a weight, by its optimiser
    std::int64_t times;      ///< in a step, for each block of this kind
    double operations;       ///< each time
    double bytes;            ///< read and written, each time
    double parameter_bytes;  ///< of the weight that an update writes
};

/// Returns the costs of one block of each kind, in list order. The model has num_layers blocks of attention
/// and of feed-forward, and one of each embedding. Throws InputError as Transformer does.
std::vector<OperatorCost> operator_costs(const ModelSpec& model, const StrategySpec& strategy);

}  // namespace dse::workload
