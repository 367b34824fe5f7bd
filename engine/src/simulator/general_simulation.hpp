// The event-driven simulation of every rank and every packet: what all shortcuts are proven against.
#pragma once

#include "network/congestion_unaware.hpp"
#include "simulator/config.hpp"
#include "simulator/recorder.hpp"
#include "simulator/result.hpp"
#include "workload/workload.hpp"

namespace dse::simulator {

/// Returns a class for each rank; a recorder, if any, takes what it wants at the end.
SimulationResult simulate_every_rank(const workload::Workload& workload, const SystemConfig& config,
                                     const network::CongestionUnaware& network, Recorder* recorder = nullptr);

}  // namespace dse::simulator
