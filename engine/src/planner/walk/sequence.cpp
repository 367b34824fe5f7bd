// Types, capacities and bandwidths of ranks in the order of a type sequence.
#include "planner/walk/sequence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dse::planner {

namespace {

constexpr double kNotAsked = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Sequence::Sequence(const Problem& problem, std::vector<std::uint32_t> order)
    : gpus_per_host_(problem.hosts.front().gpus),
      order_(std::move(order)),
      memory_mb_(problem.memory_mb),
      first_gbps_(problem.types.size(), kNotAsked),
      least_gbps_(problem.types.size(), std::numeric_limits<double>::infinity()) {
    for (const std::uint32_t type : order_)
        for (const Host& host : problem.hosts)
            if (host.type == type) types_.insert(types_.end(), host.gpus, type);
    for (const Host& host : problem.hosts) {
        if (std::isnan(first_gbps_[host.type])) first_gbps_[host.type] = host.intra_gbps;
        least_gbps_[host.type] = std::min(least_gbps_[host.type], host.intra_gbps);
    }
}

StageRanks& Sequence::stage(std::uint32_t start, std::uint32_t log2_gpus) {
    std::unique_ptr<StageRanks>& known = stages_[(std::uint64_t{start} << 8U) + log2_gpus];
    if (known) return *known;
    known = std::make_unique<StageRanks>();
    known->start = start;
    known->log2_gpus = log2_gpus;
    for (std::uint32_t rank = start; rank < start + known->gpus(); ++rank) {
        const std::uint32_t type = types_[rank];
        if (known->types.empty() || known->types.back() != type) known->types.push_back(type);
        known->capacity_mb += memory_mb_[type];
    }
    known->reduction_gbps.assign(log2_gpus + 1, kNotAsked);
    known->link_gbps.assign(log2_of(std::bit_floor(types_.size())) + 1, kNotAsked);
    return *known;
}

double Sequence::link_gbps(StageRanks& stage, std::uint32_t log2_next_gpus) const {
    double& gbps = stage.link_gbps[log2_next_gpus];
    if (std::isnan(gbps)) gbps = group_gbps(stage.start, stage.gpus() + (1U << log2_next_gpus), 1);
    return gbps;
}

double Sequence::reduction_gbps(StageRanks& stage, std::uint32_t log2_dp) const {
    double& gbps = stage.reduction_gbps[log2_dp];
    if (!std::isnan(gbps)) return gbps;
    const std::uint32_t dp = 1U << log2_dp;
    gbps = std::numeric_limits<double>::infinity();
    for (std::uint32_t group = 0; group < dp; ++group)
        gbps = std::min(gbps, group_gbps(stage.start + group, stage.gpus() / dp, dp));
    return gbps;
}

/// Of `ranks` ranks from `first` on, each `stride` after the one before: one host has the bandwidth of its
/// type's first host, several have the least of all hosts of their types.
double Sequence::group_gbps(std::uint32_t first, std::uint32_t ranks, std::uint32_t stride) const {
    const std::uint32_t last = first + (ranks - 1) * stride;
    if (first / gpus_per_host_ == last / gpus_per_host_) return first_gbps_[types_[first]];
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t i = 0; i < ranks; ++i)
        least = std::min(least, least_gbps_[types_[first + i * stride]]);
    return least;
}

}  // namespace dse::planner
