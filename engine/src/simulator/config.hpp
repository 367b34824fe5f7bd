// What a system is to the simulator: compute, scheduling, and what it says of collectives (simulator spec,
// section 2.2).
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/settings.hpp"
#include "network/network.hpp"
#include "workload/workload.hpp"

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

struct SystemConfig : collectives::Settings {
    std::vector<network::Dimension> network;
    bool congestion_aware = false;           ///< links with queues instead of unloaded delays
    std::vector<network::LinkFault> faults;  ///< of a congestion-aware network
    std::vector<Derating> deratings;         ///< NPUs slower than the others
    double peak_tflops = 0.0;
    bool roofline = true;
    bool replay_only = false;
    bool track_memory = true;
    bool rendezvous = false;
    IssueOrder issue_order = IssueOrder::kReference;
    std::uint32_t queues_per_dimension = 1;
    RemoteMemory remote_memory;

    double flops_per_second() const { return peak_tflops * 1e12; }
};

/// Checks what does not depend on a workload. Throws InputError naming the key.
void check(const SystemConfig& config);

}  // namespace dse::simulator
