// Simulates one rank of each class: same results as the general engine, at a cost independent of the ranks.
#pragma once

#include "simulation/simulators/graph_executor.hpp"
#include "simulation/simulators/recorder.hpp"
#include "simulation/simulators/result.hpp"
#include "simulation/simulators/symmetry.hpp"

namespace dse::simulator {

/// Runs the representatives of `classes`. Throws NotSymmetric as soon as the outcome could depend on the
/// order of ranks. A deadlock is reported for the representatives.
/// A recorder, if any, takes what it wants at the end. A plan, if any, is followed.
SimulationResult simulate_classes(const workload::Workload& workload, const SystemConfig& config,
                                  const network::CongestionUnaware& network, const RankClasses& classes,
                                  Recorder* recorder = nullptr, const IssuePlan* plan = nullptr,
                                  const Checkpoint& checkpoint = {});

/// The order in which one rank of each trace issues communication on the sound system, alone: its collectives
/// take the time of members that start together, its messages that of an empty network. A collective that has
/// no such time counts as one message of its size. Ranks that run the same trace in lockstep on that system
/// issue in this order anyway.
IssuePlan plan_issue_order(const workload::Workload& workload, const SystemConfig& config,
                           const network::CongestionUnaware& network, const Checkpoint& checkpoint = {});

}  // namespace dse::simulator
