// Ranks of a type sequence, their bandwidths, and shares of replicas.
#include "planner/exact/ranks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace dse::planner::exact {

Ranks::Ranks(const Problem& problem, std::vector<std::uint32_t> sequence)
    : problem_(&problem), sequence_(std::move(sequence)) {
    for (const std::uint32_t type : sequence_)
        for (const Host& host : problem.hosts)
            if (host.type == type) hosts_.push_back(host);
    for (std::uint32_t h = 0; h < hosts_.size(); ++h)
        for (std::uint32_t i = 0; i < hosts_[h].gpus; ++i) {
            type_.push_back(hosts_[h].type);
            host_of_.push_back(h);
        }
    same_until_.assign(type_.size(), gpus());
    for (std::uint32_t rank = gpus() - 1; rank-- > 0;)
        same_until_[rank] = type_[rank] == type_[rank + 1] ? same_until_[rank + 1] : rank + 1;
    first_intra_gbps_.assign(problem.types.size(), 0);
    least_intra_gbps_.assign(problem.types.size(), std::numeric_limits<double>::infinity());
    for (const Host& host : problem.hosts) {
        if (std::isinf(least_intra_gbps_[host.type])) first_intra_gbps_[host.type] = host.intra_gbps;
        least_intra_gbps_[host.type] = std::min(least_intra_gbps_[host.type], host.intra_gbps);
    }
}

double Ranks::compat_gbps(std::uint32_t start, std::uint32_t end, std::uint32_t stride) const {
    const std::uint32_t per_host = problem_->hosts.front().gpus;
    const std::uint32_t first = start / per_host;
    const std::uint32_t last = (start + (end - 1 - start) / stride * stride) / per_host;
    if (first == last) return first_intra_gbps_[hosts_[first].type];
    double gbps = std::numeric_limits<double>::infinity();
    for (std::uint32_t rank = start; rank < end;) {
        gbps = std::min(gbps, least_intra_gbps_[type_[rank]]);
        const std::uint32_t passed = std::min(same_until_[rank], end) - rank;
        rank += (passed + stride - 1) / stride * stride;
    }
    return gbps;
}

double Ranks::compat_reduction_gbps(std::uint32_t start, std::uint32_t count, std::uint32_t dp) const {
    if (pure(start, count)) {
        const std::uint32_t per_host = problem_->hosts.front().gpus;
        const std::uint32_t reach = count - dp;  // from the first rank of a group to its last
        bool crosses = reach >= per_host;
        for (std::uint32_t j = 0; j < dp && reach > 0 && !crosses; ++j)
            crosses = (start + j) % per_host + reach >= per_host;
        return (crosses ? least_intra_gbps_ : first_intra_gbps_)[type_[start]];
    }
    double gbps = std::numeric_limits<double>::infinity();
    for (std::uint32_t j = 0; j < dp; ++j) gbps = std::min(gbps, compat_gbps(start + j, start + count, dp));
    return gbps;
}

double Ranks::uplink_gbps(const Host& host, bool several_islands) const {
    if (several_islands && problem_->between_islands_gbps > 0)
        return std::min(host.inter_gbps, problem_->between_islands_gbps);
    return host.inter_gbps;
}

double Ranks::strict_link_gbps(std::uint32_t start, std::uint32_t count) const {
    const std::uint32_t first = host_of_[start];
    const std::uint32_t last = host_of_[start + count - 1];
    if (first == last) return hosts_[first].intra_gbps;
    bool several = false;
    for (std::uint32_t h = first; h <= last; ++h) several |= hosts_[h].island != hosts_[first].island;
    double gbps = std::numeric_limits<double>::infinity();
    for (std::uint32_t h = first; h <= last; ++h) gbps = std::min(gbps, uplink_gbps(hosts_[h], several));
    return gbps;
}

double Ranks::fastest_link_gbps(std::uint32_t start, std::uint32_t count) const {
    // Hosts may be linked faster than GPUs inside one: then the next group does best to leave the host.
    const std::uint32_t end = gpus();
    std::uint32_t leaving = start + count;
    while (leaving < end && host_of_[leaving] == host_of_[start]) ++leaving;
    const double near = strict_link_gbps(start, count + 1);
    const bool can_leave = leaving > start + count && leaving < end;
    return can_leave ? std::max(near, strict_link_gbps(start, leaving - start + 1)) : near;
}

double Ranks::strict_reduction_gbps(std::uint32_t start, std::uint32_t count, std::uint32_t tp) const {
    const std::uint32_t first = host_of_[start];
    std::vector<std::uint32_t> crossing(host_of_[start + count - 1] - first + 1, 0);
    const auto each_host = [&](std::uint32_t group, auto&& visit) {
        std::uint32_t before = std::numeric_limits<std::uint32_t>::max();
        for (std::uint32_t rank = start + group; rank < start + count; rank += tp)
            if (host_of_[rank] != before) visit(before = host_of_[rank]);
    };
    const auto crosses = [&](std::uint32_t group) {
        return host_of_[start + group] != host_of_[start + count - tp + group];
    };
    for (std::uint32_t j = 0; j < tp; ++j)
        if (crosses(j)) each_host(j, [&](std::uint32_t h) { ++crossing[h - first]; });
    double slowest = std::numeric_limits<double>::infinity();
    for (std::uint32_t j = 0; j < tp; ++j) {
        if (!crosses(j)) {
            slowest = std::min(slowest, hosts_[host_of_[start + j]].intra_gbps);
            continue;
        }
        bool several = false;
        const std::uint32_t island = hosts_[host_of_[start + j]].island;
        each_host(j, [&](std::uint32_t h) { several |= hosts_[h].island != island; });
        each_host(j, [&](std::uint32_t h) {
            slowest = std::min(slowest, uplink_gbps(hosts_[h], several) / crossing[h - first]);
        });
    }
    return slowest;
}

std::vector<std::uint64_t> shares(const std::vector<double>& ms, std::uint64_t batch) {
    std::vector<double> exact;
    double total = 0;
    for (const double time : ms) {
        exact.push_back(1.0 / time);
        total += exact.back();
    }
    std::vector<std::uint64_t> whole;
    std::uint64_t dealt = 0;
    for (double& share : exact) {
        share = static_cast<double>(batch) * (share / total);
        whole.push_back(static_cast<std::uint64_t>(std::floor(share)));
        dealt += whole.back();
        share -= std::floor(share);
    }
    std::vector<std::size_t> order(ms.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return exact[a] > exact[b]; });
    for (std::size_t i = 0; i < order.size() && dealt < batch; ++i, ++dealt) ++whole[order[i]];
    return whole;
}

}  // namespace dse::planner::exact
