// A cluster and a framework as predictions of steps take them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dse::prediction {

struct Tier {
    std::string name;
    std::int64_t npus = 0;
    double bandwidth_gbps = 0.0, latency_us = 0.0;
    std::optional<double> in_switch_efficiency;
};

struct Nics {
    std::int64_t tier = 0, npus_each = 0;
    double bandwidth_gbps = 0.0;

    bool is_far() const { return npus_each > 2; }
};

/// Peaks by format in 10^12 operations per second, and the shares that kernels reach.
struct Accelerator {
    std::string name;
    std::vector<std::pair<std::string, double>> peak_tflops;
    double memory_bandwidth_gbps = 0.0, host_bandwidth_gbps = 0.0;
    double matrix = 0.0, matrix_8bit = 0.0, matrix_4bit = 0.0, attention = 0.0, memory = 0.0, links = 0.0;
    double launch_us = 0.0;
    std::optional<double> board_power_w;  ///< its limit

    /// The peak of a format; 0 where it lacks it.
    double peak(std::string_view format) const {
        for (const auto& [name_of, tflops] : peak_tflops) {
            if (name_of == format) return tflops;
        }
        return 0.0;
    }
};

/// Algorithms of collectives as dse/inputs/accelerators/algorithms.py names them.
enum class Algorithm : std::uint8_t { kAuto, kRing, kTree, kHierarchical, kInSwitch, kSynthesized };

struct Cluster {
    std::string name;
    Accelerator accelerator;
    std::vector<Tier> tiers;
    std::optional<Nics> nics;
    Algorithm tensor_algorithm = Algorithm::kAuto, data_algorithm = Algorithm::kAuto;

    std::int64_t npus() const { return tiers.back().npus; }
    std::int64_t npus_per_node() const { return tiers.front().npus; }
    std::int64_t nodes() const { return (npus() + npus_per_node() - 1) / npus_per_node(); }
    bool has_default_algorithms() const {
        return tensor_algorithm == Algorithm::kAuto && data_algorithm == Algorithm::kAuto;
    }
};

/// Outputs that a layer keeps where it is recomputed selectively, as dse/prediction/steps/framework_memory.py
/// names them.
enum class Selective : std::uint8_t { kAllButCore, kEverySecondProduct, kProducts };

/// Figures of the memory that a framework takes; see dse/prediction/steps/framework_memory.py.
struct FrameworkMemory {
    double workspace_bytes = 0.0, grouped_workspace_bytes = 0.0, optimizer_bytes = 0.0, logit_bytes = 0.0;
    double split_logit_bytes = 0.0;  ///< 0: as logit_bytes
    double live_parameters = 0.0;    ///< 0: ZeRO 3 gathers whole layers
    bool placeholder_gradients = false, low_precision_weights = false, gathered_inputs = false;
    bool unfused = false, whole_stages = false, casts_in_use = false, splits_residual = false;
    Selective selective = Selective::kAllButCore;
    double allocator_slack = 0.0;
};

struct Framework {
    double launch_us = 0.0, elementwise = 1.0, tp_overlap = 0.0;
    double attention_factor = 1.0, attention_factor_8bit = 1.0;
    std::int64_t gradient_bytes = 0;
    FrameworkMemory memory;
};

Cluster cluster_of_json(std::string_view text);
Framework framework_of_json(std::string_view text);

}  // namespace dse::prediction
