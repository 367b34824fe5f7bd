// Checks of a system.
#include "simulation/simulators/config.hpp"

#include "base/error.hpp"

namespace dse::simulator {

namespace {

constexpr std::uint64_t kMostSplits = 1 << 16;  // each is a stream of every collective
constexpr std::uint32_t kMostQueues = 1 << 16;

}  // namespace

NpuSpeed SystemConfig::speed_of(std::uint32_t npu) const {
    NpuSpeed speed{flops_per_second(), memory_bytes_per_second()};
    std::uint32_t end = 0;
    for (const NpuType& type : npu_types) {
        end += type.npus;
        if (npu >= end) continue;
        speed = {type.peak_tflops * 1e12, type.memory_bandwidth_gbps * 1e9};
        break;
    }
    for (auto derating = deratings.rbegin(); derating != deratings.rend(); ++derating) {
        if (derating->npu != npu) continue;
        return {speed.flops_per_second * derating->compute_factor,
                speed.memory_bytes_per_second * derating->memory_factor};
    }
    return speed;
}

void check(const SystemConfig& config) {
    const auto require = [](bool condition, const char* what) {
        if (!condition) throw InputError(what);
    };
    require(config.preferred_dataset_splits >= 1, "preferred_dataset_splits is 0; it must be at least 1");
    require(config.active_chunks_per_dimension >= 1,
            "active_chunks_per_dimension is 0; it must be at least 1");
    require(config.queues_per_dimension >= 1, "queues_per_dimension is 0; it must be at least 1");
    require(config.preferred_dataset_splits <= kMostSplits,
            "preferred_dataset_splits is too large; at most 65536 chunks are allowed");
    require(config.queues_per_dimension <= kMostQueues,
            "queues_per_dimension is too large; at most 65536 queues are allowed");
    require(config.endpoint_delay_ns < kEndOfTime && config.remote_memory.latency_ns < kEndOfTime,
            "endpoint_delay_ns and remote_memory.latency_ns must be below 2^53, the end of simulated time");
    require(config.memory_bandwidth_gbps >= 0.0, "memory_bandwidth_gbps must be at least 0");
    require(!config.roofline || config.replay_only ||
                (config.memory_bandwidth_gbps > 0.0 && config.peak_tflops > 0.0),
            "the roofline needs peak_tflops and memory_bandwidth_gbps above 0");
    require(config.faults.empty() || config.congestion_aware,
            "network.faults need network_model congestion_aware: the other one has no links");
    for (const network::LinkFault& fault : config.faults) {
        require(fault.bandwidth_factor > 0.0 && fault.latency_factor >= 0.0,
                "network.faults: bandwidth_factor must be above 0 and latency_factor at least 0");
    }
    for (const NpuType& type : config.npu_types) {
        require(type.npus > 0 && type.peak_tflops > 0.0 && type.memory_bandwidth_gbps > 0.0,
                "npu_types: npus, peak_tflops and memory_bandwidth_gbps must be above 0");
    }
    for (const Derating& derating : config.deratings) {
        require(derating.compute_factor > 0.0 && derating.memory_factor > 0.0,
                "deratings: compute_factor and memory_factor must be above 0");
    }
    for (const auto* list :
         {&config.all_reduce, &config.all_gather, &config.reduce_scatter, &config.all_to_all}) {
        require(list->size() <= config.network.size(), "more collective algorithms than network dimensions");
    }
    require(config.remote_memory.kind == RemoteMemoryKind::kNone || config.remote_memory.bytes_per_ns > 0,
            "remote_memory bandwidth is 0; it must be at least 1 byte per ns");
}

}  // namespace dse::simulator
