// A system as the simulator sees it: compute, scheduling, and what it says of collectives.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "inputs/networks/network.hpp"
#include "simulation/algorithms/settings.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::simulator {

using workload::CollectiveType;

/// How a rank chooses among ready communication nodes.
enum class IssueOrder : std::uint8_t {
    kReference,  ///< the lowest id whose slot is free: ranks may choose differently, and deadlock
    kSafe,       ///< in one order for all ranks of a trace, made in advance: cannot deadlock
};

enum class RemoteMemoryKind : std::uint8_t { kNone, kPerNpu, kPool };

struct RemoteMemory {
    RemoteMemoryKind kind = RemoteMemoryKind::kNone;
    std::uint64_t latency_ns = 0;
    std::uint64_t bytes_per_ns = 0;
};

/// An NPU that is slower than the others: factors on its peak performance and memory bandwidth.
struct Derating {
    std::uint32_t npu = 0;
    double compute_factor = 1.0;
    double memory_factor = 1.0;
};

/// NPUs that are alike and follow each other; types are dealt out from NPU 0 on.
struct NpuType {
    std::uint32_t npus = 0;
    double peak_tflops = 0.0;
    double memory_bandwidth_gbps = 0.0;
};

/// The speeds at which compute nodes of an NPU run.
struct NpuSpeed {
    double flops_per_second = 0.0;
    double memory_bytes_per_second = 0.0;

    bool operator==(const NpuSpeed&) const = default;
    auto operator<=>(const NpuSpeed&) const = default;
};

/// Collectives that traces of the user's own define, a file for each place in a group.
struct CustomCollectives {
    std::map<CollectiveType, std::string> of_type;  ///< prefixes of paths
    std::map<std::uint64_t, std::string> of_node;   ///< by the id of a node; counts before the type
    /// The traces of the files, by prefix and place; null where no group has the place.
    std::map<std::string, std::vector<std::shared_ptr<const workload::Trace>>> places;

    bool empty() const { return of_type.empty() && of_node.empty(); }
    /// The prefix for a node, null if an algorithm runs it.
    const std::string* prefix_of(std::uint64_t node_id, CollectiveType type) const {
        if (const auto found = of_node.find(node_id); found != of_node.end()) return &found->second;
        const auto found = of_type.find(type);
        return found == of_type.end() ? nullptr : &found->second;
    }
};

struct SystemConfig : collectives::Settings {
    std::vector<network::Dimension> network;
    bool congestion_aware = false;           ///< links with queues instead of unloaded delays
    bool cut_through = false;                ///< links pass a message on as it comes, not when it has come
    std::vector<network::LinkFault> faults;  ///< of a congestion-aware network
    std::vector<NpuType> npu_types;          ///< of all NPUs; none: all are alike
    std::vector<Derating> deratings;         ///< NPUs slower than others of their type
    double peak_tflops = 0.0;
    bool roofline = true;
    bool replay_only = false;
    bool track_memory = true;
    bool rendezvous = false;
    bool hardware_slots = true;  ///< else every ready node runs at once, as in ASTRA-sim's custom collectives
    IssueOrder issue_order = IssueOrder::kReference;
    std::uint32_t queues_per_dimension = 1;
    RemoteMemory remote_memory;
    CustomCollectives custom;

    double flops_per_second() const { return peak_tflops * 1e12; }
    bool has_equal_npus() const { return npu_types.empty() && deratings.empty(); }
    /// By the type of an NPU and its last derating.
    NpuSpeed speed_of(std::uint32_t npu) const;
};

/// Checks what does not depend on a workload. Throws InputError naming the key.
void check(const SystemConfig& config);

}  // namespace dse::simulator
