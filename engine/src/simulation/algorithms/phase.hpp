// One phase of a stream: an algorithm among the members of one dimension or list.
#pragma once

#include <cstdint>
#include <vector>

#include "simulation/algorithms/settings.hpp"

namespace dse::collectives {

/// The queue cursor of a dimension that a phase uses.
enum class QueueUse : std::uint8_t { kNormal, kFirst, kLast };

/// Who takes part in a phase.
enum class Membership : std::uint8_t { kDimension, kList, kAllRanks };

inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;

/// The constants of a phase, the same on every member; its algorithm fills in those of its packets.
struct Phase {
    const Algorithm* algorithm = nullptr;
    CollectiveType type = CollectiveType::kAllReduce;
    Membership membership = Membership::kDimension;
    QueueUse queue_use = QueueUse::kNormal;
    std::uint32_t dimension = 0;
    const SynthesizedUse* synthesized = nullptr;  ///< of a phase whose sends are given
    std::uint32_t members = 0;
    std::uint64_t endpoint_delay_ns = 0;
    std::uint64_t bytes = 0;         ///< at the start of the phase
    std::uint64_t packet_bytes = 0;  ///< unless there are steps
    std::uint64_t reduction_ns = 0;  ///< of such a packet
    bool pumped = true;              ///< runs on the packet pump; otherwise the algorithm steps itself
    bool alternates = false;         ///< every other phase of a rank and dimension is of the second variant
    std::uint64_t window = 1;        ///< packets in flight, P
    std::uint64_t rest = 0;          ///< packets of a cycle after the window, Z
    std::uint64_t sends = 0;         ///< M
    bool gated = false;              ///< the second half of the sends waits for all receives of the first

    /// Packets of unequal sizes: size, reduction time and partner offset of each.
    struct Step {
        std::uint64_t bytes;
        std::uint64_t reduction_ns;
        std::uint32_t offset;
    };
    std::vector<Step> steps;

    /// Bytes of one member: what it gathers from each, or what is each one's in the end, rounded up.
    std::uint64_t share() const {
        if (type == CollectiveType::kAllGather) return bytes;
        return bytes / members + (bytes % members != 0 ? 1 : 0);
    }
    std::uint64_t bytes_of(std::uint64_t packet) const {
        return steps.empty() ? packet_bytes : steps[packet].bytes;
    }
    std::uint64_t reduction_of(std::uint64_t packet) const {
        return steps.empty() ? reduction_ns : steps[packet].reduction_ns;
    }
    bool reduces(std::uint64_t packet) const {
        const std::uint64_t cycle = window + rest;
        if (packet % cycle < window) return false;
        return type == CollectiveType::kReduceScatter ||
               (type == CollectiveType::kAllReduce && packet / cycle % 2 == 0);
    }
};

/// Duration, and how long before its end the timer was registered that ends it: needed to order ties.
struct LockstepTime {
    Time duration_ns = 0;
    Time tail_ns = 0;
};

}  // namespace dse::collectives
