// The order in which ranks issue communication under `issue_order` safe (docs/simulator.md, Issue order).
#pragma once

#include <cstdint>
#include <vector>

#include "simulation/networks/congestion_unaware.hpp"
#include "simulation/simulators/config.hpp"
#include "simulation/simulators/graph_executor.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::simulator {

/// Whether the ranks of this point must follow a plan. A rank that runs no collective waits for no other with
/// its slot taken, so without collectives, or with recorded durations only, there is nothing to plan.
bool needs_plan(const workload::Workload& workload, const SystemConfig& config);

/// The system whose run makes the plan: all NPUs and links are sound, and memory is of no interest.
SystemConfig sound_system(const SystemConfig& config);

/// Reads the plan off the end of a run of one rank per trace; `representatives` has these ranks.
IssuePlan plan_of_run(const workload::Workload& representatives, const GraphExecutor& executor);

}  // namespace dse::simulator
