// The ranks that a communicator group joins, and how it lies on the tiers of a cluster.
//
// The rules are those of dse/inputs/accelerators/placement.py, which explains them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "prediction/inputs/cluster.hpp"
#include "prediction/inputs/plan.hpp"

namespace dse::prediction {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Groups of `size` members `stride` apart, over `ranks` in all; `run` members, then the next run `jump` on.
struct Group {
    std::int64_t size = 1, stride = 1, run = 0, jump = 0, ranks = 0;

    bool is_one_progression() const { return run == 0 || run == size; }
    bool operator==(const Group&) const = default;
};

/// The groups of each axis of a plan.
struct Groups {
    Group tp, cp, dp, pp, ep, expert_tp, expert_dp, dp_cp, replicas;
};

/// How groups lie on a tier; where they differ, the most of any.
struct Span {
    std::int64_t members = 1, fewest = 1, units = 1, joins = 1, senders = 0;
};

/// Throws Infeasible: the order gives experts other stages, or their grid does not fit.
Groups groups_of(const Plan& plan);

/// For units of so many ranks, which nest.
std::vector<Span> spans_of(const Group& group, std::span<const std::int64_t> units);
std::vector<Span> spans_of(const Group& group, const Cluster& cluster);

/// 10^9 bytes per second on the slowest link of a ring in each tier; infinite where it has nothing to do.
std::vector<double> ring_rates_gbps(std::span<const Span> spans, const Cluster& cluster);

/// The rate of NICs of a ring's members in a node where the ring leaves by one that is far; else 0.
double far_rate_gbps(const Group& group, const Cluster& cluster, std::span<const double> rates);

}  // namespace dse::prediction
