// Chains: nodes in one row, edges between neighbours only.
#pragma once

#include <cstdint>
#include <functional>

#include "partition/problem/problem.hpp"

namespace dse::partition {

struct ChainResult {
    Labels labels;  ///< empty if no partition keeps the limits
    double cost = kInfinite;
    double bound = 0;
    bool complete = false;
};

/// The least `pipeline_bottleneck` of a chain in `problem.order`, for stages in the order of the devices or,
/// with `free_order`, any order. `upper` is the cost of a known partition, or infinite. Bisection over the
/// cost; whether a cost can be kept is answered by the set of prefixes that the devices so far can finish.
/// Where neither time nor `most_probes` allow any answer, stages in order get one that only keeps the limits.
ChainResult chain_bottleneck(const Problem& problem, double upper, const std::function<bool()>& expired,
                             std::size_t most_probes = SIZE_MAX);

/// States of `free_order`: products of (devices of a kind + 1). Beyond `kMostOrders` none is searched.
inline constexpr std::size_t kMostOrders = std::size_t{1} << 16;
std::size_t order_states(const Problem& problem);

/// The least `sharding_cost` of a path (in `problem.order`) among partitions into contiguous pieces whose
/// devices come in the order `devices`. `upper` prunes; labels are empty if nothing costs less or as much.
ChainResult contiguous_sharding(const Problem& problem, const std::vector<std::uint32_t>& devices,
                                double upper);

}  // namespace dse::partition
