// A type sequence: ranks dealt out type by type, and the stages that consecutive ranks make.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "planner/problem/problem.hpp"

namespace dse::planner {

/// Consecutive ranks as a stage; what it needs of the cluster, worked out once.
struct StageRanks {
    std::uint32_t start = 0;
    std::uint32_t log2_gpus = 0;
    std::vector<std::uint32_t> types;    ///< in the order of the sequence; one: a stage of one type
    double capacity_mb = 0;              ///< of all its GPUs together
    std::vector<double> reduction_gbps;  ///< by log2 of the replicas; NaN: not asked yet
    std::vector<double> link_gbps;       ///< by log2 of the GPUs of the next stage; NaN: not asked yet

    std::uint32_t gpus() const { return 1U << log2_gpus; }
    bool mixed() const { return types.size() > 1; }
};

/// Ranks of a compat problem: all hosts have as many GPUs.
class Sequence {
public:
    /// `order` lists the types of the problem in the order of the sequence.
    Sequence(const Problem& problem, std::vector<std::uint32_t> order);

    const std::vector<std::uint32_t>& order() const { return order_; }
    /// Per rank.
    const std::vector<std::uint32_t>& types() const { return types_; }

    /// The stage of 2^log2_gpus ranks from `start` on; the same object for the same ranks.
    StageRanks& stage(std::uint32_t start, std::uint32_t log2_gpus);
    /// GB/s between a stage and the next one, whose GPUs are given.
    double link_gbps(StageRanks& stage, std::uint32_t log2_next_gpus) const;
    /// GB/s of the slowest reduction group of a stage with 2^log2_dp replicas.
    double reduction_gbps(StageRanks& stage, std::uint32_t log2_dp) const;

private:
    double group_gbps(std::uint32_t first, std::uint32_t ranks, std::uint32_t stride) const;

    std::uint32_t gpus_per_host_;
    std::vector<std::uint32_t> order_;
    std::vector<std::uint32_t> types_;
    std::vector<double> memory_mb_;   // per type
    std::vector<double> first_gbps_;  // per type: of its first host
    std::vector<double> least_gbps_;  // per type: of its slowest host
    std::unordered_map<std::uint64_t, std::unique_ptr<StageRanks>> stages_;
};

}  // namespace dse::planner
