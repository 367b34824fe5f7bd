#include "partition/ideals/ideals.hpp"

#include "partition/ideals/ideals_probe.hpp"

namespace dse::partition {

namespace {

constexpr int kMostProbes = 100;

/// A part of it is left out of what is proven: costs are sums in another order.
constexpr double kBelow = kSlack / 4;

}  // namespace

IdealsResult ideals_bottleneck(const Problem& problem, double lower, double upper, std::size_t most_states,
                               const std::function<bool()>& expired) {
    IdealsProbe probe(problem, expired);
    IdealsResult result;
    result.bound = lower;
    double high = upper, tried = upper * (1 - kBelow);
    bool is_known = true;  // nothing between `high` and the least cost found was left open
    for (int count = 0; count < kMostProbes && result.bound < high * (1 - kBelow) && !expired(); ++count) {
        const ProbeResult found = probe.run(tried, most_states);
        if (!found.labels.empty()) {
            result.labels = found.labels;
            result.cost = high = found.cost;
            is_known = true;
            tried = high * (1 - kBelow);
        } else if (found.complete) {
            result.bound = std::max(result.bound, tried);
            tried = is_known ? high * (1 - kBelow) : (result.bound + high) / 2;
        } else {  // too many ideals: fewer are left below a lower cost
            is_known = false;
            high = tried;
            tried = (result.bound + high) / 2;
        }
    }
    result.complete = is_known && result.bound >= std::min(upper, result.cost) * (1 - 2 * kBelow);
    return result;
}

}  // namespace dse::partition
