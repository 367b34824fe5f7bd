// Why a strategy is infeasible, in the words of dse/inputs/strategies/divisibility.py and
// dse/studies/points/evaluate.py.
#pragma once

#include <cstdint>
#include <string>

#include "answers/explorer/model.hpp"
#include "answers/explorer/system.hpp"

namespace dse::explorer {

/// The rule for sizes that do not divide.
enum class Divisibility : std::uint8_t { kStage, kWhole, kStrict };

/// Such as "dp8 tp1 sp8 pp1 fsdp recompute".
std::string label_of(const workload::StrategySpec& strategy);

/// Why no workload exists or none fills the system; empty if one does.
std::string infeasible_reason(const Model& model, const System& system,
                              const workload::StrategySpec& strategy, Divisibility divisibility);

/// Sequences, tokens or heads that no program can split, as a reason for each; empty if there are none.
std::string impossible_split(const Model& model, const workload::StrategySpec& strategy);

/// Whether some size does not divide.
bool is_fractional(const Model& model, const workload::StrategySpec& strategy);

}  // namespace dse::explorer
