// What a system is to the simulator: compute, collectives, scheduling (simulator spec, section 2.2).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "network/network.hpp"
#include "workload/workload.hpp"

namespace dse::simulator {

using workload::CollectiveType;

enum class AlgorithmKind : std::uint8_t { kRing, kDirect, kHalvingDoubling, kDoubleBinaryTree };

/// One entry of an implementation list.
struct Algorithm {
    AlgorithmKind kind = AlgorithmKind::kRing;
    std::uint32_t window = 0;     ///< direct: packets in flight, 0 for all
    bool over_all_ranks = false;  ///< `one…`: a single logical ring over all ranks
};

/// Algorithm by its name in system.json. Throws InputError with the allowed names.
Algorithm algorithm_named(const std::string& name);

enum class CollectiveOptimization : std::uint8_t { kBaseline, kLocalBandwidthAware };

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

struct SystemConfig {
    std::vector<network::Dimension> network;
    bool congestion_aware = false;           ///< links with queues instead of unloaded delays
    std::vector<network::LinkFault> faults;  ///< of a congestion-aware network
    std::vector<Derating> deratings;         ///< NPUs slower than the others
    std::vector<Algorithm> all_reduce, all_gather, reduce_scatter,
        all_to_all;  ///< entry d: network dimension d
    double peak_tflops = 0.0;
    double memory_bandwidth_gbps = 0.0;  ///< 1 GB/s is 10^9 bytes in 10^9 ns
    std::uint64_t endpoint_delay_ns = 10;
    std::uint64_t active_chunks_per_dimension = 1;
    std::uint64_t preferred_dataset_splits = 1;
    CollectiveOptimization optimization = CollectiveOptimization::kLocalBandwidthAware;
    bool roofline = true;
    bool replay_only = false;
    bool track_memory = true;
    bool rendezvous = false;
    std::uint32_t queues_per_dimension = 1;
    RemoteMemory remote_memory;

    const std::vector<Algorithm>& algorithms(CollectiveType type) const {
        switch (type) {
            case CollectiveType::kAllGather:
                return all_gather;
            case CollectiveType::kReduceScatter:
                return reduce_scatter;
            case CollectiveType::kAllToAll:
                return all_to_all;
            default:
                return all_reduce;
        }
    }
    double flops_per_second() const { return peak_tflops * 1e12; }
    double memory_bytes_per_second() const { return memory_bandwidth_gbps * 1e9; }

    /// 3 * floor(bytes / memory bandwidth): one write and two reads, each cut on its own (spec, 7.2).
    std::uint64_t reduction_ns(std::uint64_t bytes) const {
        if (memory_bandwidth_gbps == 0.0) return 0;
        return 3 * static_cast<std::uint64_t>(static_cast<double>(bytes) / memory_bytes_per_second() * 1e9);
    }
};

/// Checks what does not depend on a workload. Throws InputError naming the key.
void check(const SystemConfig& config);

}  // namespace dse::simulator
