// The time of a rank by what it did.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "simulation/simulators/event_queue.hpp"

namespace dse::simulator {

enum class ActivityClass : std::uint8_t { kGpu, kCpu, kComm, kRemoteMemory, kInvalid, kCount };

/// Length of a union of intervals that come in order of their ends.
class IntervalUnion {
public:
    void add(Time start, Time end) {
        any_ = true;
        while (!spans_.empty() && spans_.back().second >= start) {
            start = std::min(start, spans_.back().first);
            spans_.pop_back();
        }
        spans_.emplace_back(start, end);
        // Receives may start long ago, so spans stay; most runs keep few because touching ones merge.
    }
    Time length() const {
        Time total = 0;
        for (const auto& [start, end] : spans_) total += end - start;
        return total;
    }
    bool any() const { return any_; }

private:
    std::vector<std::pair<Time, Time>> spans_;
    bool any_ = false;
};

/// Roofline figures of a compute node: time, performance and operation intensity.
struct Roofline {
    Time duration_ns = 0;
    double flops_per_second = 0.0;
    double operations_per_byte = 0.0;
};

/// duration = floor(ops / min(bandwidth * ops / bytes, peak) * 1e9), in this order.
inline Roofline roofline(double num_ops, double bytes, double peak_flops, double memory_bytes_per_second) {
    Roofline result;
    result.operations_per_byte = num_ops / bytes;
    result.flops_per_second = std::min(memory_bytes_per_second * result.operations_per_byte, peak_flops);
    const double duration = num_ops / result.flops_per_second * 1e9;
    // No operations at all give 0/0; such a node, and one that outlasts the clock, never ends.
    result.duration_ns = whole_ns(duration);
    return result;
}

/// Collected while a rank runs.
struct RankStatistics {
    std::array<IntervalUnion, static_cast<std::size_t>(ActivityClass::kCount)> activity;
    Time last_end = 0;
    Time gpu_busy_ns = 0;  ///< sum of GPU timers, for exposed communication
    Time compute_ns = 1;   ///< over compute nodes; starts at 1 as in the reference
    Time compute_bound_ns = 0;
    double compute_utilization = 0.0, memory_utilization = 0.0,
           operation_intensity = 0.0;  ///< times duration

    void add(ActivityClass activity_class, Time start, Time end) {
        activity[static_cast<std::size_t>(activity_class)].add(start, end);
        last_end = std::max(last_end, end);
    }
    void add_roofline(const Roofline& node, Time duration, double peak_flops,
                      double memory_bytes_per_second) {
        if (node.flops_per_second >= peak_flops) compute_bound_ns += duration;
        const auto ns = static_cast<double>(duration);
        compute_utilization += node.flops_per_second / peak_flops * ns;
        memory_utilization += node.flops_per_second / node.operations_per_byte / memory_bytes_per_second * ns;
        operation_intensity += node.operations_per_byte * ns;
    }
};

}  // namespace dse::simulator
