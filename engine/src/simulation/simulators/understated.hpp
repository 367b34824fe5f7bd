// Where the congestion-unaware model charges too little: messages that cross slower dimensions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dse::simulator {

/// The slowest links of a network dimension.
struct SlowestLinks {
    std::uint32_t npus = 1;
    double bytes_per_ns = 0.0;
    double latency_ns = 0.0;
};

/// Ranks of an axis that send to each other: `stride` apart, and with `is_ring` the last to the first.
struct Neighbours {
    std::string_view axis;
    std::uint64_t degree = 1;
    std::uint64_t stride = 1;
    bool is_ring = true;
};

/// The parts of a workload that send between neighbours.
struct Senders {
    std::vector<Neighbours> axes;   ///< whose groups are rings, by stride; those of degree 1 do not matter
    std::uint64_t pp = 1;           ///< stages, of which each sends to the next
    bool stages_go_round = false;   ///< the last stage sends to the first
    bool has_logical_ring = false;  ///< groups of all NPUs are one logical ring, too
};

/// Says which communication has slower links than it is charged for, such as "dp 32 is charged for dimension
/// 0, not for 1"; empty if none has. A message is charged for the lowest dimension in which the addresses of
/// its ends differ (docs/simulator.md). Slower are links of less bandwidth or more latency.
std::string understated_communication(std::span<const SlowestLinks> dimensions, const Senders& senders);

}  // namespace dse::simulator
