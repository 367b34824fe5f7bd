// The event-driven simulation of every rank and every packet: what all shortcuts are proven against.
#pragma once

#include "simulation/networks/congestion_unaware.hpp"
#include "simulation/simulators/config.hpp"
#include "simulation/simulators/graph_executor.hpp"
#include "simulation/simulators/recorder.hpp"
#include "simulation/simulators/result.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::simulator {

/// Returns a class for each rank; a recorder, if any, takes what it wants at the end. A plan, if
/// any, is followed.
SimulationResult simulate_every_rank(const workload::Workload& workload, const SystemConfig& config,
                                     const network::CongestionUnaware& network, Recorder* recorder = nullptr,
                                     const IssuePlan* plan = nullptr, const Checkpoint& checkpoint = {});

}  // namespace dse::simulator
