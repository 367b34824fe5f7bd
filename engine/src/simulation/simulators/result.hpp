// The result of a simulation: figures per rank, and why ranks did not finish.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancellation.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::simulator {

/// Figures of one rank, as ASTRA-sim reports them.
struct RankResult {
    bool finished = false;
    std::uint64_t finish_ns = 0;
    std::uint64_t wall_time_ns = 0;
    std::int64_t exposed_comm_ns = 0;
    std::uint64_t gpu_time_ns = 0, cpu_time_ns = 0, comm_time_ns = 0, remote_memory_time_ns = 0;
    std::uint64_t invalid_time_ns = 0;
    double compute_bound_pct = 0.0, compute_utilization_pct = 0.0, memory_utilization_pct = 0.0;
    double operation_intensity = 0.0;
    std::uint64_t peak_memory_bytes = 0;
    std::uint32_t unrun_nodes = 0;  ///< nodes of dependency cycles, which the reference drops silently

    bool operator==(const RankResult&) const = default;
    /// Of compute and communication, if a rank does nothing else and never waits.
    std::uint64_t overlap_ns() const {
        const std::uint64_t busy = gpu_time_ns + comm_time_ns;
        return busy > wall_time_ns ? busy - wall_time_ns : 0;
    }
};

/// A node that keeps a rank from finishing.
struct BlockedNode {
    std::uint32_t rank = 0;
    std::uint64_t node_id = 0;
    std::string name;
    std::string kind;
    std::string communicator;          ///< group of a collective, empty for all ranks
    std::vector<std::uint32_t> peers;  ///< ranks that it waits for
    std::string cause;
};

/// Ranks with the same trace and the same figures form a class.
struct SimulationResult {
    bool deadlock = false;
    std::vector<RankResult> classes;  ///< in order of their lowest rank
    std::vector<std::uint32_t> class_of_rank;
    std::vector<BlockedNode> blocked;
    std::uint64_t events = 0;  ///< executed
    bool by_classes = false;   ///< one rank of each class was simulated
    std::string obstacle;      ///< otherwise: the first precondition of that which does not hold
};

/// Gathers classes with equal traces and figures, in order of their lowest rank.
void merge_equal_classes(const workload::Workload& workload, SimulationResult& result,
                         const Checkpoint& checkpoint = {});

}  // namespace dse::simulator
