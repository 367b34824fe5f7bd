// Units of the stage terms, and how a share of a micro-batch is cut.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace dse::planner::exact {

inline constexpr double kMib = 1048576.0;
inline constexpr double kBytesPerMs = 1e6;  // of 1 GB/s
/// In flight: as many micro-batches as there are.
inline constexpr std::uint16_t kAnyNumber = std::numeric_limits<std::uint16_t>::max();

/// Visits the powers of two of a share, the largest first.
template <typename Visit>
void each_slice(std::uint64_t share, Visit&& visit) {
    while (share > 0) {
        const std::uint64_t part = std::bit_floor(share);
        visit(part);
        share -= part;
    }
}

}  // namespace dse::planner::exact
