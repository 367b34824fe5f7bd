// How long collectives of a step take: rings, trees, tier by tier, in switches; latency and bandwidth.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "prediction/links/placement.hpp"

namespace dse::prediction {

/// Launch and synchronisation of a collective of any size: 22 to 25 us measured on A100 and B200 NVLink.
inline constexpr double kFixedS = 22e-6;
/// Of the line rate of NICs: InfiniBand and RoCE with GPUDirect.
inline constexpr double kBetweenNodes = 0.92;
/// Of the same from an NPU that is not next to the NIC, as an assumption. Of an all-to-all of 8 GPUs that
/// share a NIC, NCCL's maintainer says that most reach it through the CPU
/// (https://github.com/NVIDIA/nccl/issues/687): 3 GB/s each were expected there, and 1 seen.
inline constexpr double kThroughCpus = 1.0 / 3;

/// A tier that joins `size` units of a group; all NPUs of a unit send at once.
struct Leg {
    std::int64_t size = 1;
    double bandwidth = 0.0, latency_s = 0.0, summing_bandwidth = 0.0;

    auto operator<=>(const Leg&) const = default;
};

/// A synthesised schedule: the largest of `lines` (ps, ps per byte) over the bytes of a chunk.
struct ScheduleTimes {
    double chunks = 1.0;
    std::vector<std::pair<double, double>> lines;
};
/// Returns the schedules of an all-gather over legs.
using Synthesizer = std::function<const std::vector<ScheduleTimes>&(const std::vector<Leg>&)>;

/// The rate that an NPU sends into each tier beyond the first if all do.
std::vector<double> own_rates(const Cluster& cluster);
/// An NPU's rate out of its node.
double own_nic_rate(const Cluster& cluster);

/// The tiers that join groups, from the inside; none for rings and trees. Throws Infeasible.
std::vector<Leg> legs_of(const Group& group, const Cluster& cluster, Algorithm algorithm);

/// The links of a communicator group, in bytes per second and seconds.
struct Links {
    std::int64_t size = 1;
    double bandwidth = 0.0, latency_s = 0.0, exchange_bandwidth = 0.0, message_bandwidth = 0.0;
    Algorithm algorithm = Algorithm::kAuto;
    std::vector<Leg> legs;
    const std::vector<ScheduleTimes>* schedules = nullptr;

    static Links of(const Group& group, const Cluster& cluster, Algorithm algorithm,
                    const Synthesizer& synthesizer);

    /// A ring moves 2 (p - 1) / p of the bytes in 2 (p - 1) steps (Patarasuk et al. 2009); a double binary
    /// tree the bytes twice, in 2 log2 p steps (Sanders et al. 2009). Tier by tier, bytes are scattered
    /// inside a unit, summed across by ranks of the same place, and gathered inside (Cho et al. 2019).
    /// Switches take each byte once from each rank, and give it back once, summed (Graham et al. 2016).
    /// Synthesised ones scatter and gather by schedules for the links of the group, or are a ring or tree
    /// where that is faster.
    double all_reduce_s(double size_bytes) const;
    /// The algorithm of an all-reduce: of `kAuto` the faster one.
    Algorithm used(double size_bytes) const;
    /// All-gather or reduce-scatter: each rank gets, or gives away, all but its own share.
    double gather_s(double size_bytes) const;
    /// All-to-all of `size_bytes` a rank. With q ranks in a node (q - 1) / p of them pass NVLink and (p - q)
    /// / p the rank's own NIC, both at once.
    double exchange_s(double size_bytes) const;
    double send_s(double size_bytes) const;
    /// An all-gather by messages to the next rank (ring attention, Liu et al. 2023).
    double pass_around_s(double size_bytes) const;

private:
    std::pair<double, double> ring_and_tree_s(double size_bytes) const;
    double hops_s(double passes) const;
    double slowest_s(double size_bytes, bool scattered) const;
    double synthesized_s(double size_bytes) const;
};

/// The exchange that sends a token once to each NPU and unit that has one of its experts.
struct Dispatcher {
    double ranks = 1.0, near = 1.0, near_rate = 0.0, far_rate = 0.0, latency_s = 0.0;

    static Dispatcher of(const Group& group, const Cluster& cluster);
    /// The time to send the tokens of an NPU, `size_bytes` in all, to their experts, or back.
    double one_way_s(double size_bytes, const struct Experts& experts) const;
};

}  // namespace dse::prediction
