// Names of algorithms and checks of a system.
#include "simulator/config.hpp"

#include <charconv>
#include <string_view>

#include "core/error.hpp"

namespace dse::simulator {

namespace {

[[noreturn]] void unknown_algorithm(const std::string& name) {
    throw InputError(
        "collective algorithm '" + name +
        "' is unknown; allowed are ring, direct, direct<window>, halvingDoubling, doubleBinaryTree, "
        "oneRing, oneDirect, oneDirect<window>, oneHalvingDoubling");
}

std::uint32_t parse_window(std::string_view digits, const std::string& name) {
    if (digits.empty()) return 0;
    std::uint32_t window = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), window);
    const bool whole = error == std::errc() && end == digits.data() + digits.size();
    if (!whole || digits.size() > 5 || window == 0) unknown_algorithm(name);
    return window;
}

}  // namespace

Algorithm algorithm_named(const std::string& name) {
    if (name == "ring") return {AlgorithmKind::kRing, 0, false};
    if (name == "halvingDoubling") return {AlgorithmKind::kHalvingDoubling, 0, false};
    if (name == "doubleBinaryTree") return {AlgorithmKind::kDoubleBinaryTree, 0, false};
    if (name == "oneRing") return {AlgorithmKind::kRing, 0, true};
    if (name == "oneHalvingDoubling") return {AlgorithmKind::kHalvingDoubling, 0, true};
    constexpr std::string_view kDirect = "direct";
    constexpr std::string_view kOneDirect = "oneDirect";
    const std::string_view text = name;
    if (text.starts_with(kDirect)) {
        return {AlgorithmKind::kDirect, parse_window(text.substr(kDirect.size()), name), false};
    }
    if (text.starts_with(kOneDirect)) {
        return {AlgorithmKind::kDirect, parse_window(text.substr(kOneDirect.size()), name), true};
    }
    unknown_algorithm(name);
}

void check(const SystemConfig& config) {
    const auto require = [](bool condition, const char* what) {
        if (!condition) throw InputError(what);
    };
    require(config.preferred_dataset_splits >= 1, "preferred_dataset_splits is 0; it must be at least 1");
    require(config.active_chunks_per_dimension >= 1,
            "active_chunks_per_dimension is 0; it must be at least 1");
    require(config.queues_per_dimension >= 1, "queues_per_dimension is 0; it must be at least 1");
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
