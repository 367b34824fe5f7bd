#include "prediction/links/links.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace dse::prediction {

namespace {

// All-gather and reduce-scatter reach .67 where all-reduce reaches .74 (B200, nccl-tests).
constexpr double kGather = 0.9;
// All-to-all reaches .60 of .74 in nccl-tests, and less in steps with experts, as sizes differ.
constexpr double kExchange = 0.71;
// Ranks of a group whose collectives can be synthesised: some seconds are spent on its schedules.
constexpr std::int64_t kMostSynthesized = 256;

bool goes_by_tiers(Algorithm algorithm) {
    return algorithm == Algorithm::kHierarchical || algorithm == Algorithm::kInSwitch ||
           algorithm == Algorithm::kSynthesized;
}

const char* name_of(Algorithm algorithm) {
    if (algorithm == Algorithm::kHierarchical) return "hierarchical";
    return algorithm == Algorithm::kInSwitch ? "in_switch" : "synthesized";
}

}  // namespace

std::vector<double> own_rates(const Cluster& cluster) {
    std::vector<double> rates;
    for (std::size_t index = 1; index < cluster.tiers.size(); ++index) {
        double rate = cluster.tiers[index].bandwidth_gbps * 1e9 * kBetweenNodes;
        if (cluster.nics && cluster.nics->is_far() &&
            static_cast<std::int64_t>(index) >= cluster.nics->tier) {
            rate = std::min(rate, own_nic_rate(cluster));
        }
        rates.push_back(rate);
    }
    return rates;
}

double own_nic_rate(const Cluster& cluster) {
    if (!cluster.nics) return cluster.tiers[1].bandwidth_gbps * 1e9 * kBetweenNodes;
    return cluster.nics->bandwidth_gbps * 1e9 * (cluster.nics->is_far() ? kThroughCpus : kBetweenNodes);
}

std::vector<Leg> legs_of(const Group& group, const Cluster& cluster, Algorithm algorithm) {
    if (group.size == 1 || !goes_by_tiers(algorithm)) return {};
    const std::string ranks = std::to_string(group.size), name = name_of(algorithm);
    if (algorithm == Algorithm::kSynthesized && group.size > kMostSynthesized) {
        throw Infeasible{"collectives of " + ranks +
                         " ranks are synthesized (system.group_algorithms); at most " +
                         std::to_string(kMostSynthesized) +
                         " ranks can have that: choose auto, ring, tree or hierarchical"};
    }
    const std::vector<Span> spans = spans_of(group, cluster);
    std::int64_t joined = 1;
    bool is_even = true;
    for (const Span& span : spans) {
        joined *= span.joins;
        is_even = is_even && span.members == span.fewest;
    }
    if (joined != group.size || !is_even) {
        throw Infeasible{"collectives of " + ranks + " ranks are " + name +
                         " (system.group_algorithms), but parts of the cluster have different numbers of "
                         "them: choose auto, ring or tree"};
    }
    std::vector<Leg> legs;
    std::vector<double> reached{cluster.tiers[0].bandwidth_gbps * 1e9 * cluster.accelerator.links};
    for (const double rate : own_rates(cluster)) reached.push_back(rate);
    for (std::size_t index = 0; index < cluster.tiers.size(); ++index) {
        const Tier& tier = cluster.tiers[index];
        if (spans[index].joins == 1) continue;
        if (!tier.in_switch_efficiency && algorithm == Algorithm::kInSwitch) {
            throw Infeasible{"collectives of " + ranks +
                             " ranks are in_switch (system.group_algorithms), but pass " + tier.name +
                             ", whose switches do not sum: its in_switch_efficiency is null"};
        }
        const double summing = tier.bandwidth_gbps * 1e9 * tier.in_switch_efficiency.value_or(0.0);
        legs.push_back({spans[index].joins, reached[index], tier.latency_us * 1e-6, summing});
    }
    return legs;
}

Links Links::of(const Group& group, const Cluster& cluster, Algorithm algorithm,
                const Synthesizer& synthesizer) {
    const std::vector<Span> spans = spans_of(group, cluster);
    const double inner = cluster.tiers[0].bandwidth_gbps * 1e9 * cluster.accelerator.links;
    const std::vector<double> rates = ring_rates_gbps(spans, cluster);
    double bandwidth = inner;
    for (std::size_t i = 1; i < rates.size(); ++i)
        bandwidth = std::min(bandwidth, rates[i] * 1e9 * kBetweenNodes);
    double messages = bandwidth;
    if (const double far = far_rate_gbps(group, cluster, rates); far > 0) {
        bandwidth = std::min(bandwidth, far * 1e9 * kThroughCpus);
    }
    const auto leaves_from = static_cast<std::size_t>(cluster.nics ? cluster.nics->tier : 1);
    bool leaves = false;
    for (std::size_t i = leaves_from; i < rates.size(); ++i) leaves = leaves || rates[i] < kInfinite;
    if (leaves) messages = std::min(messages, own_nic_rate(cluster));
    double latency_us = 0.0;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        if (spans[i].senders != 0) latency_us = std::max(latency_us, cluster.tiers[i].latency_us);
    }
    // Of a rank's bytes those for its node pass NVLink; those that leave a unit, the rank's own NIC.
    double slowest = static_cast<double>(spans[0].members - 1) / inner;
    const std::vector<double> own = own_rates(cluster);
    for (std::size_t i = 0; i < own.size(); ++i) {
        slowest = std::max(slowest, static_cast<double>(group.size - spans[i].fewest) / own[i]);
    }
    const double exchange = slowest > 0 ? static_cast<double>(group.size) / slowest : bandwidth;
    Links found{group.size,
                bandwidth,
                latency_us * 1e-6,
                exchange,
                messages,
                algorithm,
                legs_of(group, cluster, algorithm),
                nullptr};
    if (algorithm == Algorithm::kSynthesized && !found.legs.empty())
        found.schedules = &synthesizer(found.legs);
    return found;
}

double Links::all_reduce_s(double size_bytes) const {
    if (size == 1 || size_bytes == 0.0) return 0.0;
    if (algorithm == Algorithm::kHierarchical) {
        double held = size_bytes, total = 0.0;
        for (std::size_t i = 0; i + 1 < legs.size(); ++i) {
            const Links one{legs[i].size,
                            legs[i].bandwidth,
                            legs[i].latency_s,
                            legs[i].bandwidth,
                            legs[i].bandwidth,
                            Algorithm::kAuto,
                            {},
                            nullptr};
            total += 2 * one.gather_s(held);
            held /= static_cast<double>(one.size);
        }
        const Leg& top = legs.back();
        const Links last{
            top.size, top.bandwidth, top.latency_s, top.bandwidth, top.bandwidth, Algorithm::kAuto,
            {},       nullptr};
        return total + last.all_reduce_s(held);
    }
    if (algorithm == Algorithm::kInSwitch) return kFixedS + hops_s(2) + slowest_s(size_bytes, false);
    const auto [ring, tree] = ring_and_tree_s(size_bytes);
    double found = algorithm == Algorithm::kRing   ? ring
                   : algorithm == Algorithm::kTree ? tree
                                                   : std::min(ring, tree);
    if (algorithm == Algorithm::kSynthesized) found = std::min(found, 2 * synthesized_s(size_bytes));
    return kFixedS + found;
}

Algorithm Links::used(double size_bytes) const {
    if (algorithm != Algorithm::kAuto) return algorithm;
    const auto [ring, tree] = ring_and_tree_s(size_bytes);
    return ring <= tree ? Algorithm::kRing : Algorithm::kTree;
}

double Links::gather_s(double size_bytes) const {
    if (size == 1 || size_bytes == 0.0) return 0.0;
    const auto ranks = static_cast<double>(size);
    if (algorithm == Algorithm::kHierarchical) {
        double total = 0.0, held = size_bytes;
        for (const Leg& leg : legs) {
            const Links one{
                leg.size, leg.bandwidth, leg.latency_s, leg.bandwidth, leg.bandwidth, Algorithm::kAuto,
                {},       nullptr};
            total += one.gather_s(held);
            held /= static_cast<double>(leg.size);
        }
        return total;
    }
    if (algorithm == Algorithm::kInSwitch) return kFixedS + hops_s(1) + slowest_s(size_bytes, true);
    const double moved = (ranks - 1) / ranks * size_bytes / (bandwidth * kGather);
    const double ring = (ranks - 1) * latency_s, tree = 2 * std::log2(ranks) * latency_s;
    double found = moved + (algorithm == Algorithm::kRing   ? ring
                            : algorithm == Algorithm::kTree ? tree
                                                            : std::min(ring, tree));
    if (algorithm == Algorithm::kSynthesized) found = std::min(found, synthesized_s(size_bytes / kGather));
    return kFixedS + found;
}

double Links::exchange_s(double size_bytes) const {
    if (size == 1 || size_bytes == 0.0) return 0.0;
    return kFixedS + latency_s + size_bytes / (exchange_bandwidth * kExchange);
}

double Links::send_s(double size_bytes) const {
    return 0.5 * kFixedS + latency_s + size_bytes / message_bandwidth;
}

double Links::pass_around_s(double size_bytes) const {
    if (size == 1 || size_bytes == 0.0) return 0.0;
    const auto ranks = static_cast<double>(size);
    const double moved = (ranks - 1) / ranks * size_bytes / (message_bandwidth * kGather);
    return kFixedS + (ranks - 1) * latency_s + moved;
}

std::pair<double, double> Links::ring_and_tree_s(double size_bytes) const {
    const auto ranks = static_cast<double>(size);
    const double moved = 2 * size_bytes / bandwidth;
    const double ring = (ranks - 1) / ranks * moved + 2 * (ranks - 1) * latency_s;
    return {ring, moved + 2 * std::log2(ranks) * latency_s};
}

double Links::hops_s(double passes) const {
    double below = 0.0;
    for (std::size_t i = 0; i + 1 < legs.size(); ++i) below += legs[i].latency_s;
    return passes * below + legs.back().latency_s;
}

double Links::slowest_s(double size_bytes, bool scattered) const {
    double held = size_bytes, slowest = 0.0;
    for (const Leg& leg : legs) {
        const auto ranks = static_cast<double>(leg.size);
        const double seconds =
            scattered ? (ranks - 1) / ranks * held / (leg.bandwidth * kGather) : held / leg.summing_bandwidth;
        slowest = std::max(slowest, seconds);
        held /= ranks;
    }
    return slowest;
}

double Links::synthesized_s(double size_bytes) const {
    double ranks = 1.0, fastest = kInfinite;
    for (const Leg& leg : legs) ranks *= static_cast<double>(leg.size);
    const double share = std::max(1.0, std::nearbyint(size_bytes)) / ranks;
    for (const ScheduleTimes& each : *schedules) {
        double ps = 0.0;
        for (const auto& [fixed, per_byte] : each.lines)
            ps = std::max(ps, fixed + per_byte * share / each.chunks);
        fastest = std::min(fastest, ps);
    }
    return fastest * 1e-12;
}

}  // namespace dse::prediction
