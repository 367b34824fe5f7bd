// The exchange of tokens that sends each once to every NPU, and every unit, that has one of its experts.
#include <algorithm>
#include <limits>

#include "prediction/inputs/model.hpp"
#include "prediction/links/links.hpp"

namespace dse::prediction {

namespace {

// Links inside a unit reach this share of their line rate in steps. Kernels alone reach .4 to .85 on H100,
// and .5 to .6 between 4 to 64 GB200.
constexpr double kNearShare = 0.47;
// One way takes this long with few tokens: kernels of DeepEP measured 26 to 59 us.
constexpr double kStartS = 30e-6;

/// The probability that some of `top_k` distinct experts are among `own` of them.
double hit_share(std::int64_t experts, std::int64_t own, std::int64_t top_k) {
    if (experts - own < top_k) return 1.0;
    double missed = 1.0;
    for (std::int64_t i = 0; i < top_k; ++i) {
        missed *= static_cast<double>(experts - own - i) / static_cast<double>(experts - i);
    }
    return 1 - missed;
}

double combinations(std::int64_t of, std::int64_t taken) {
    if (taken < 0 || taken > of) return 0.0;
    double found = 1.0;
    for (std::int64_t i = 0; i < taken; ++i) {
        found = found * static_cast<double>(of - i) / static_cast<double>(i + 1);
    }
    return found;
}

/// How many of `parts` equal parts of the experts have one of a token's, on average.
double mean_reached(const Experts& experts, double parts) {
    const auto own = static_cast<std::int64_t>(static_cast<double>(experts.count) / parts);
    const std::int64_t groups = experts.groups, most = experts.top_groups, size = experts.count / groups;
    if (own < size) {
        return parts * static_cast<double>(most) / static_cast<double>(groups) *
               hit_share(most * size, own, experts.top_k);
    }
    const std::int64_t held = own / size;
    double share = 0.0;
    for (std::int64_t used = std::max<std::int64_t>(0, most - groups + held); used <= std::min(held, most);
         ++used) {
        share += combinations(held, used) * combinations(groups - held, most - used) *
                 hit_share(most * size, used * size, experts.top_k);
    }
    return parts * share / combinations(groups, most);
}

}  // namespace

Dispatcher Dispatcher::of(const Group& group, const Cluster& cluster) {
    const std::vector<Span> spans = spans_of(group, cluster);
    const std::vector<double> rates = own_rates(cluster);
    Dispatcher found;
    found.ranks = static_cast<double>(group.size);
    found.near = static_cast<double>(std::max<std::int64_t>(1, spans[0].members));
    found.near_rate = cluster.tiers[0].bandwidth_gbps * 1e9 * kNearShare;
    found.far_rate = std::numeric_limits<double>::infinity();
    double latency_us = 0.0;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        if (spans[i].senders != 0) latency_us = std::max(latency_us, cluster.tiers[i].latency_us);
        if (i > 0 && spans[i].joins > 1) found.far_rate = std::min(found.far_rate, rates[i - 1]);
    }
    found.latency_s = latency_us * 1e-6;
    return found;
}

double Dispatcher::one_way_s(double size_bytes, const Experts& experts) const {
    if (ranks == 1.0) return 0.0;
    const double units = ranks / near, reached = mean_reached(experts, ranks), elsewhere = 1 - 1 / units;
    const double handed = reached * ((near - 1) / ranks + elsewhere * (near - 1) / near);
    double far_s = 0.0;
    if (units > 1) far_s = mean_reached(experts, units) * elsewhere * size_bytes / far_rate;
    return kStartS + latency_s + std::max(handed * size_bytes / near_rate, far_s);
}

}  // namespace dse::prediction
