// Ranks dealt out type by type: their types and hosts, the links that they share, and shares of replicas.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "planner/problem/problem.hpp"

namespace dse::planner::exact {

enum class CostModel : std::uint8_t { compat, strict };

/// The GPUs of a problem in the order of a type sequence. All bandwidths are in GB/s.
class Ranks {
public:
    Ranks(const Problem& problem, std::vector<std::uint32_t> sequence);

    std::uint32_t gpus() const { return static_cast<std::uint32_t>(type_.size()); }
    const std::vector<std::uint32_t>& sequence() const { return sequence_; }
    std::uint32_t type(std::uint32_t rank) const { return type_[rank]; }

    /// Whether consecutive ranks have one type.
    bool pure(std::uint32_t start, std::uint32_t count) const { return same_until_[start] >= start + count; }

    /// The first rank after a rank that has another type.
    std::uint32_t same_until(std::uint32_t rank) const { return same_until_[rank]; }

    /// The bandwidth of ranks start, start + stride … below end.
    double compat_gbps(std::uint32_t start, std::uint32_t end, std::uint32_t stride) const;

    /// The slowest reduction group of a stage, compat or strict.
    double compat_reduction_gbps(std::uint32_t start, std::uint32_t count, std::uint32_t dp) const;
    double strict_reduction_gbps(std::uint32_t start, std::uint32_t count, std::uint32_t tp) const;

    /// The slowest link among consecutive ranks, strict.
    double strict_link_gbps(std::uint32_t start, std::uint32_t count) const;

    /// The fastest of these from a group to one that begins right after it, of any size, strict.
    double fastest_link_gbps(std::uint32_t start, std::uint32_t count) const;

private:
    double uplink_gbps(const Host& host, bool several_islands) const;

    const Problem* problem_;
    std::vector<std::uint32_t> sequence_;
    std::vector<Host> hosts_;  ///< regrouped in the order of the sequence
    std::vector<std::uint32_t> type_;
    std::vector<std::uint32_t> host_of_;
    std::vector<std::uint32_t> same_until_;
    std::vector<double> first_intra_gbps_;  ///< per type: of its first host
    std::vector<double> least_intra_gbps_;  ///< per type
};

/// Samples of each replica, in proportion to speed 1 / ms.
std::vector<std::uint64_t> shares(const std::vector<double>& ms, std::uint64_t batch);

}  // namespace dse::planner::exact
