// Splitting a batch over replicas of different speed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dse::planner {

/// Samples per replica: shares of `batch` by speed, rounded down, and the rest one each to the replicas with
/// the largest fractions, the first among equals. A share may be 0.
std::vector<std::uint64_t> split_batch(std::span<const double> speeds, std::uint64_t batch);

/// Calls `take(2^k)` for the powers of two in the binary form of `samples`, the largest first.
template <typename Take>
void for_each_power(std::uint64_t samples, const Take& take) {
    for (std::uint64_t power = std::uint64_t{1} << 63U; power != 0; power >>= 1U)
        if (samples & power) take(power);
}

}  // namespace dse::planner
