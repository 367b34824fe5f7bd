// The chain of nodes in repair, cut where more of them are too rare to count.
#include "prediction/runs/repairs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dse::prediction::runs {

namespace {

constexpr double kRare = 1e-18;  // of the probability: more nodes in repair do not count
constexpr double kLarge = 1e200;

/// Nodes that failures of one kind take, and their rate.
using Arrivals = std::vector<std::pair<std::int64_t, double>>;

/// The share of the time with 0, 1, ... nodes in repair, as far as it counts. Upward over the cut below each
/// number go failures of enough nodes, downward one repair.
std::vector<double> stationary(const Arrivals& arrivals, const Spares& spares) {
    std::int64_t largest = 0;
    double offered = 0.0;
    for (const auto& [nodes, rate] : arrivals) {
        largest = std::max(largest, nodes);
        offered += static_cast<double>(nodes) * rate;
    }
    offered *= spares.repair_s;
    std::vector<double> at_least(static_cast<std::size_t>(largest) + 1, 0.0);
    for (std::int64_t least = 0; least <= largest; ++least) {
        for (const auto& [nodes, rate] : arrivals) {
            if (nodes >= least) at_least[static_cast<std::size_t>(least)] += rate;
        }
    }
    std::vector<double> weights = {1.0};
    double total = 1.0;
    const std::int64_t most = spares.spares + static_cast<std::int64_t>(spares.speeds.size());
    for (std::int64_t broken = 1; broken <= most; ++broken) {
        double up = 0.0;
        for (std::int64_t below = 1; below <= std::min(largest, broken); ++below)
            up +=
                weights[static_cast<std::size_t>(broken - below)] * at_least[static_cast<std::size_t>(below)];
        weights.push_back(up * spares.repair_s / static_cast<double>(broken));
        total += weights.back();
        if (total > kLarge) {
            for (double& weight : weights) weight /= total;
            total = 1.0;
        }
        const bool is_past = static_cast<double>(broken) > offered + static_cast<double>(largest);
        if (is_past && weights.back() < kRare * total) break;
    }
    for (double& weight : weights) weight /= total;
    return weights;
}

/// The mean speed outside recoveries, in which more nodes are lacking than else. A recovery begins with the
/// nodes of its failure lost; until its middle each is repaired with the probability of that time, to first
/// order (an implicit step of Euler).
double computing_speed(std::span<const FailureClass> classes, double repair_s,
                       const std::vector<double>& shares, const std::vector<double>& speeds) {
    const double rate = rate_of(classes);
    double all_time = 0.0, recovering = 0.0, in_recovery = 0.0;
    for (std::size_t broken = 0; broken < shares.size(); ++broken)
        all_time += shares[broken] * speeds[broken];
    for (const FailureClass& one : classes) {
        const double seconds = one.near_recovery_s.value_or(one.recovery_s);
        const double part = one.rate / rate * -std::expm1(-rate * seconds);
        std::vector<double> after(shares.size(), 0.0);
        for (std::size_t broken = 0; broken < shares.size(); ++broken)
            after[std::min(broken + static_cast<std::size_t>(one.nodes), shares.size() - 1)] +=
                shares[broken];
        double from_above = 0.0, mean = 0.0;
        for (std::size_t broken = after.size(); broken-- > 0;) {
            const double step = static_cast<double>(broken) * seconds / 2 / repair_s;
            const double here = (after[broken] + from_above) / (1 + step);
            from_above = here * step;
            mean += here * speeds[broken];
        }
        recovering += part;
        in_recovery += part * mean;
    }
    if (recovering >= 1) return all_time;
    return std::min(1.0, (all_time - in_recovery) / (1 - recovering));  // the first order may exceed it
}

}  // namespace

double rate_of(std::span<const FailureClass> classes) {
    double rate = 0.0;
    for (const FailureClass& one : classes) rate += one.rate;
    return rate;
}

Shop repair_shop(std::span<const FailureClass> classes, const Spares& spares) {
    Arrivals arrivals;
    for (const FailureClass& one : classes) {
        if (one.nodes > 0 && one.rate > 0) arrivals.emplace_back(one.nodes, one.rate);
    }
    if (arrivals.empty() || spares.repair_s <= 0) return {};
    const std::vector<double> shares = stationary(arrivals, spares);
    const auto most = static_cast<std::size_t>(spares.spares) + spares.speeds.size();
    std::vector<double> speeds(static_cast<std::size_t>(spares.spares) + 1, 1.0);
    speeds.insert(speeds.end(), spares.speeds.begin(), spares.speeds.end());
    double waiting = 0.0, changes = 0.0;
    for (std::size_t broken = 0; broken < shares.size(); ++broken) {
        const double share = shares[broken];
        if (broken > 0 && speeds[broken] != speeds[broken - 1])
            changes += share * static_cast<double>(broken) / spares.repair_s;
        for (const auto& [nodes, rate] : arrivals) {
            const std::size_t reached = broken + static_cast<std::size_t>(nodes);
            double repairs = 0.0;
            for (std::size_t left = most + 1; left <= reached; ++left)
                repairs += 1 / static_cast<double>(left);
            waiting += share * rate * spares.repair_s * repairs;
            if (speeds[std::min(reached, most)] != speeds[broken]) changes += share * rate;
        }
    }
    const double speed =
        spares.speeds.empty() ? 1.0 : computing_speed(classes, spares.repair_s, shares, speeds);
    return {waiting, changes * spares.reconfigure_s, speed};
}

}  // namespace dse::prediction::runs
