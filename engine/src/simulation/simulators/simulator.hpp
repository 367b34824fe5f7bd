// Simulating a workload on a system with the congestion-unaware network.
#pragma once

#include "simulation/simulators/config.hpp"
#include "simulation/simulators/recording.hpp"
#include "simulation/simulators/result.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::simulator {

enum class Method : std::uint8_t {
    kAuto,            ///< one rank of each class where that is proven to be the same, else the general engine
    kGeneral,         ///< every rank and every packet: the definition of truth inside the project
    kAssumeSymmetry,  ///< classes by trace without proof: wrong results, for tests that must notice them
};

/// Runs a workload on a system. The result is the same for kAuto and kGeneral, except for `events`.
///
/// Re-entrant and without global state. Throws InputError for a system that does not fit the workload and
/// SimulationError for what the reference cannot run either, and for times that the clock does not have.
/// Ranks that cannot finish are not an error: the result says `deadlock`, keeps the figures of the finished
/// ranks and lists the nodes that block the others.
SimulationResult simulate(const workload::Workload& workload, const SystemConfig& config,
                          Method method = Method::kAuto, const Checkpoint& checkpoint = {});

/// The same, and what happened when on chosen ranks. Costs no more than their names and times.
Recording record(const workload::Workload& workload, const SystemConfig& config,
                 Method method = Method::kAuto, RecordingRequest request = {},
                 const Checkpoint& checkpoint = {});

}  // namespace dse::simulator
