// Simulates one rank of each class: same results as the general engine, at a cost independent of the ranks.
#pragma once

#include "simulator/recorder.hpp"
#include "simulator/result.hpp"
#include "simulator/symmetry.hpp"

namespace dse::simulator {

/// Runs the representatives of `classes`. Throws NotSymmetric as soon as the outcome could depend on the
/// order of ranks. A deadlock is reported for the representatives.
/// A recorder, if any, takes what it wants at the end.
SimulationResult simulate_classes(const workload::Workload& workload, const SystemConfig& config,
                                  const network::CongestionUnaware& network, const RankClasses& classes,
                                  Recorder* recorder = nullptr);

}  // namespace dse::simulator
