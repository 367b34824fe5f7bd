#include "prediction/links/placement.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>

namespace dse::prediction {

namespace {

Group joint(const Group& one, const Group& other, std::int64_t ranks) {
    const Group& inner = other.stride < one.stride ? other : one;
    const Group& outer = other.stride < one.stride ? one : other;
    if (inner.size == 1 || outer.size == 1) {
        const Group& only = inner.size == 1 ? outer : inner;
        return {only.size, only.stride, 0, 0, ranks};
    }
    const std::int64_t size = inner.size * outer.size;
    if (outer.stride == inner.size * inner.stride) return {size, inner.stride, 0, 0, ranks};
    return {size, inner.stride, inner.size, outer.stride, ranks};
}

struct Progressions {
    std::array<std::pair<std::int64_t, std::int64_t>, 2> of;
    std::size_t count;
};

Progressions progressions(const Group& group) {
    if (group.is_one_progression()) return {{{{group.size, group.stride}, {1, 1}}}, 1};
    return {{{{group.run, group.stride}, {group.size / group.run, group.jump}}}, 2};
}

std::int64_t total(const Group& group) {
    if (group.ranks != 0) return group.ranks;
    const Progressions axes = progressions(group);
    std::int64_t most = 0;
    for (std::size_t i = 0; i < axes.count; ++i) most = std::max(most, axes.of[i].first * axes.of[i].second);
    return most;
}

/// Members of every group in a unit that it touches; 0 where that differs.
std::int64_t nested(const Group& group, std::int64_t unit) {
    if (total(group) <= unit) return group.size;
    std::int64_t members = 1;
    const Progressions axes = progressions(group);
    for (std::size_t i = 0; i < axes.count; ++i) {
        const auto [size, stride] = axes.of[i];
        if (unit % (size * stride) == 0) {
            members *= size;
        } else if (unit % stride == 0 && (size * stride) % unit == 0) {
            members *= unit / stride;
        } else if (size > 1 && stride % unit != 0) {
            return 0;
        }
    }
    return members;
}

/// The ranks of each group in a row, ascending.
std::vector<std::int64_t> all_ranks(const Group& group) {
    std::vector<std::int64_t> offsets{0}, firsts;
    const Progressions axes = progressions(group);
    for (std::size_t i = 0; i < axes.count; ++i) {
        const auto [size, stride] = axes.of[i];
        std::vector<std::int64_t> more;
        for (const std::int64_t offset : offsets) {
            for (std::int64_t step = 0; step < size; ++step) more.push_back(offset + step * stride);
        }
        offsets = std::move(more);
    }
    std::sort(offsets.begin(), offsets.end());
    std::vector<std::int64_t> ranks;
    for (std::int64_t first = 0; first < total(group); ++first) {
        bool is_first = true;
        for (std::size_t i = 0; i < axes.count; ++i) {
            is_first = is_first && first / axes.of[i].second % axes.of[i].first == 0;
        }
        if (!is_first) continue;
        for (const std::int64_t offset : offsets) ranks.push_back(first + offset);
    }
    return ranks;
}

Span enumerated(const Group& group, const std::vector<std::int64_t>& ranks, std::int64_t below,
                std::int64_t unit) {
    const auto size = static_cast<std::size_t>(group.size);
    Span found{0, std::numeric_limits<std::int64_t>::max(), 0, 0, 0};
    std::map<std::int64_t, std::int64_t> senders;  // by unit below
    for (std::size_t start = 0; start < ranks.size(); start += size) {
        std::int64_t touched = 0, members = 0, joins = 0;
        for (std::size_t i = 0; i < size; ++i) {
            const std::int64_t rank = ranks[start + i];
            const bool enters = i == 0 || rank / unit != ranks[start + i - 1] / unit;
            if (enters) {
                if (members != 0) {
                    found.members = std::max(found.members, members);
                    found.fewest = std::min(found.fewest, members);
                    found.joins = std::max(found.joins, joins);
                }
                ++touched;
                members = joins = 0;
            }
            ++members;
            joins += i == 0 || rank / below != ranks[start + i - 1] / below;
            const std::int64_t next = ranks[start + (i + 1) % size];
            if (rank / unit == next / unit && rank / below != next / below) {
                found.senders = std::max(found.senders, ++senders[rank / below]);
            }
        }
        found.members = std::max(found.members, members);
        found.fewest = std::min(found.fewest, members);
        found.joins = std::max(found.joins, joins);
        found.units = std::max(found.units, touched);
    }
    return found;
}

}  // namespace

Groups groups_of(const Plan& plan) {
    const std::int64_t ranks = plan.npus();
    Groups found;
    std::int64_t stride = 1;
    for (const Axis axis : plan.order) {
        const auto add = [&](Group& group, std::int64_t degree) {
            group = {degree, stride, 0, 0, ranks};
            stride *= degree;
        };
        switch (axis) {
            case Axis::kTp:
                add(found.tp, plan.tp);
                break;
            case Axis::kCp:
                add(found.cp, plan.cp);
                break;
            case Axis::kDp:
                add(found.dp, plan.dp);
                break;
            case Axis::kPp:
                add(found.pp, plan.pp);
                break;
            case Axis::kEp:
                break;
        }
    }
    found.dp_cp = joint(found.cp, found.dp, ranks);
    const std::int64_t expert_tp = plan.expert_degree(), expert_ranks = expert_tp * plan.ep;
    const std::int64_t stage = plan.tp * plan.cp * plan.dp;
    if (stage % expert_ranks != 0) {
        throw Infeasible{"ep " + std::to_string(plan.ep) + " x expert_tp " + std::to_string(expert_tp) +
                         " is " + std::to_string(expert_ranks) + "; it must divide tp x cp x dp, " +
                         std::to_string(stage)};
    }
    stride = 1;
    std::int64_t pipeline_stride = 1;
    for (const Axis axis : plan.order) {
        const auto add = [&](Group& group, std::int64_t degree) {
            group = {degree, stride, 0, 0, ranks};
            stride *= degree;
        };
        switch (axis) {
            case Axis::kTp:
                add(found.expert_tp, expert_tp);
                break;
            case Axis::kEp:
                add(found.ep, plan.ep);
                break;
            case Axis::kDp:
                add(found.expert_dp, stage / expert_ranks);
                break;
            case Axis::kPp:
                pipeline_stride = stride;
                stride *= plan.pp;
                break;
            case Axis::kCp:
                break;
        }
    }
    if (expert_ranks > 1 && plan.pp > 1 && pipeline_stride != found.pp.stride) {
        throw Infeasible{"order " + *plan.order_text +
                         " puts stages of experts on other NPUs than those of attention with these degrees; "
                         "write pp last, as in tp-cp-ep-dp-pp"};
    }
    const Group whole = found.dp;
    if (plan.shard_ranks == 0) {
        found.replicas = whole;
        found.replicas.size = 1;
        return found;
    }
    const std::int64_t all = total(whole);
    found.dp_cp = whole;
    found.dp_cp.size = plan.shard_ranks;
    found.dp_cp.ranks = all;
    found.replicas = {whole.size / plan.shard_ranks, whole.stride * plan.shard_ranks, 0, 0, all};
    return found;
}

std::vector<Span> spans_of(const Group& group, std::span<const std::int64_t> units) {
    std::vector<Span> spans;
    std::vector<std::int64_t> ranks;
    std::int64_t below = 1, before = 1;
    bool is_nested = true;
    for (const std::int64_t unit : units) is_nested = is_nested && nested(group, unit) != 0;
    if (!is_nested) ranks = all_ranks(group);
    for (const std::int64_t unit : units) {
        if (is_nested) {
            const std::int64_t count = nested(group, unit), joins = count / before;
            spans.push_back({count, count, group.size / count, joins, joins > 1 ? below / before : 0});
            before = count;
        } else {
            spans.push_back(enumerated(group, ranks, below, unit));
        }
        below = unit;
    }
    return spans;
}

std::vector<Span> spans_of(const Group& group, const Cluster& cluster) {
    std::vector<std::int64_t> units;
    for (const Tier& tier : cluster.tiers) units.push_back(tier.npus);
    return spans_of(group, units);
}

std::vector<double> ring_rates_gbps(std::span<const Span> spans, const Cluster& cluster) {
    std::vector<double> rates;
    std::int64_t below = 1;
    for (std::size_t i = 0; i < cluster.tiers.size(); ++i) {
        const Tier& tier = cluster.tiers[i];
        const auto senders = static_cast<double>(spans[i].senders);
        rates.push_back(senders > 0 ? static_cast<double>(below) * tier.bandwidth_gbps / senders : kInfinite);
        below = tier.npus;
    }
    return rates;
}

double far_rate_gbps(const Group& group, const Cluster& cluster, std::span<const double> rates) {
    if (!cluster.nics || cluster.nics->npus_each == 1) return 0.0;
    const Nics& nics = *cluster.nics;
    const auto beyond = rates.subspan(static_cast<std::size_t>(nics.tier));
    if (std::all_of(beyond.begin(), beyond.end(), [](double rate) { return rate == kInfinite; })) return 0.0;
    const std::array<std::int64_t, 2> units = {nics.npus_each, cluster.tiers.front().npus};
    const std::vector<Span> spans = spans_of(group, units);
    const Span &at_nic = spans[0], &in_node = spans[1];
    if (at_nic.members != at_nic.fewest || in_node.members != in_node.fewest) return 0.0;
    if (at_nic.members == nics.npus_each || (in_node.members == 1 && !nics.is_far())) return 0.0;
    return static_cast<double>(in_node.members) * nics.bandwidth_gbps;
}

}  // namespace dse::prediction
