// The general event-driven simulator: the definition of truth inside the project.
#pragma once

#include "simulator/config.hpp"
#include "simulator/result.hpp"
#include "workload/workload.hpp"

namespace dse::simulator {

/// Runs a workload on a system with the congestion-unaware network, every rank and every packet.
///
/// Re-entrant and without global state. Throws InputError for a system that does not fit the workload and
/// SimulationError for what the reference cannot run either. Ranks that cannot finish are not an error: the
/// result says `deadlock`, keeps the figures of the finished ranks and lists the nodes that block the others.
SimulationResult simulate(const workload::Workload& workload, const SystemConfig& config);

}  // namespace dse::simulator
