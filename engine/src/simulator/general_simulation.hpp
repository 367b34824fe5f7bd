// The event-driven simulation of every rank and every packet: what all shortcuts are proven against.
#pragma once

#include "network/congestion_unaware.hpp"
#include "simulator/config.hpp"
#include "simulator/graph_executor.hpp"
#include "simulator/recorder.hpp"
#include "simulator/result.hpp"
#include "workload/workload.hpp"

namespace dse::simulator {

/// Returns a class for each rank; a recorder, if any, takes what it wants at the end. A plan, if
/// any, is followed.
SimulationResult simulate_every_rank(const workload::Workload& workload, const SystemConfig& config,
                                     const network::CongestionUnaware& network, Recorder* recorder = nullptr,
                                     const IssuePlan* plan = nullptr, const Checkpoint& checkpoint = {});

}  // namespace dse::simulator
