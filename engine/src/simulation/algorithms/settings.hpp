// The settings that a system has for its collectives.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "simulation/algorithms/synthesized.hpp"
#include "simulation/workloads/reference.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::collectives {

using workload::CollectiveType;

class Algorithm;

/// One entry of an implementation list.
struct Choice {
    const Algorithm* algorithm = nullptr;
    std::uint32_t window = 0;     ///< packets in flight, 0 for all; of an algorithm that takes a window
    bool over_all_ranks = false;  ///< `one…`: a single logical dimension of all ranks
};

/// Order of the dimensions of an all-reduce: one after the other, or reduce-scatters, then all-gathers back.
enum class Optimization : std::uint8_t { kBaseline, kLocalBandwidthAware };

struct Settings {
    std::vector<Choice> all_reduce, all_gather, reduce_scatter,
        all_to_all;  ///< entry d: network dimension d
    std::uint64_t endpoint_delay_ns = 10;
    std::uint64_t active_chunks_per_dimension = 1;
    std::uint64_t preferred_dataset_splits = 1;
    Optimization optimization = Optimization::kLocalBandwidthAware;
    std::map<Scope, SynthesizedUse> synthesized;
    const workload::Reference* reference = &workload::default_reference();  ///< what it equals
    double memory_bandwidth_gbps = 0.0;  ///< 1 GB/s is 10^9 bytes in 10^9 ns

    const std::vector<Choice>& choices(CollectiveType type) const {
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
    /// The schedules among some NPUs, null if there are none.
    const SynthesizedUse* synthesized_for(const Scope& scope) const {
        const auto found = synthesized.find(scope);
        return found == synthesized.end() ? nullptr : &found->second;
    }
    double memory_bytes_per_second() const { return memory_bandwidth_gbps * 1e9; }

    /// 3 * floor(bytes / memory bandwidth): one write and two reads, each cut on its own.
    /// Each is the end of time at most.
    std::uint64_t reduction_ns(std::uint64_t bytes) const {
        if (memory_bandwidth_gbps == 0.0) return 0;
        return 3 * whole_ns(static_cast<double>(bytes) / memory_bytes_per_second() * 1e9);
    }
};

}  // namespace dse::collectives
