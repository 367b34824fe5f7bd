// The steps of many workloads on one system, as columns: the figures that a study stores of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/cancellation.hpp"
#include "simulation/simulators/config.hpp"
#include "simulation/simulators/simulator.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::simulator {

/// A row for each workload. Of one that did not end well only `ended`, false, has a meaning.
struct Steps {
    std::vector<std::uint8_t> ended;
    std::vector<std::int64_t> wall_time_ns, peak_memory_bytes;  ///< the largest of all ranks
    // Of the rank that finishes last, the lowest id on ties.
    std::vector<std::int64_t> last_rank, gpu_time_ns, comm_time_ns, exposed_comm_ns;
    std::vector<double> compute_bound_pct, compute_utilization_pct, memory_utilization_pct,
        operation_intensity;
    std::vector<std::int64_t> rank0_wall_time_ns, rank0_peak_memory_bytes, rank_classes;

    std::size_t size() const { return ended.size(); }
    void add(const SimulationResult& result);
};

/// Simulates workloads in their order; after `most_s` seconds those that are left have no row, but for the
/// first. Deadlocks, errors of single workloads and of their input are rows that have not ended.
Steps simulate_steps(std::span<const workload::Workload* const> workloads, const SystemConfig& config,
                     Method method, double most_s, const Checkpoint& checkpoint = {});

}  // namespace dse::simulator
