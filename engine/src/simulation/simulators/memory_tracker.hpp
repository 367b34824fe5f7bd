// Lifetimes of a rank's tensors and the peak of their sum.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulation/simulators/event_queue.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::simulator {

/// When a tensor is alive: from the tick of its birth until before that of its last read.
struct TensorLife {
    std::uint64_t bytes = 0;  ///< as first mentioned
    Time birth = 0;
    Time death = 0;
    bool known = false;
    bool read = false;  ///< otherwise it never dies
};

class MemoryTracker {
public:
    /// With `skips_empty`, mentions of 0 bytes do not count.
    MemoryTracker(std::uint32_t tensor_count, bool skips_empty)
        : tensors_(tensor_count), skips_empty_(skips_empty) {}

    /// A node that ran from `start` to `end` has read these tensors.
    void read(std::span<const workload::TensorMention> mentions, Time end);

    /// The node has written these. Returns the index of a tensor that was already known, which the reference
    /// cannot handle, or kNil.
    std::uint32_t write(std::span<const workload::TensorMention> mentions, Time start);

    /// Largest total after the births and deaths of a tick. Linear but for sorting the deaths.
    /// Throws SimulationError for tensors whose sizes have no sum.
    std::uint64_t peak_bytes(const Checkpoint& checkpoint = {}) const;

    /// By index of tensor in the trace.
    const std::vector<TensorLife>& lives() const { return tensors_; }

private:
    std::vector<TensorLife> tensors_;
    bool skips_empty_;
};

}  // namespace dse::simulator
