// Addresses and checks of dimensions.
#include "inputs/networks/network.hpp"

#include <cmath>
#include <cstdio>
#include <string>

#include "base/error.hpp"
#include "base/time.hpp"

namespace dse::network {

namespace {

std::string short_text(double value) {
    char text[32];  // a stream would bring the tables of all locales into a page
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

}  // namespace

void check(const std::vector<Dimension>& dimensions) {
    if (dimensions.empty()) throw InputError("the network has no dimension; it needs at least one");
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
        const Dimension& dimension = dimensions[i];
        const std::string key = "network dimension " + std::to_string(i) + ": ";
        if (!(dimension.bandwidth_gbps > 0.0) || !std::isfinite(dimension.bandwidth_gbps)) {
            throw InputError(key + "bandwidth is " + short_text(dimension.bandwidth_gbps) +
                             " GB/s; it must be above 0");
        }
        if (!(dimension.latency_ns >= 0.0 && dimension.latency_ns < static_cast<double>(kEndOfTime))) {
            throw InputError(key + "latency is " + short_text(dimension.latency_ns) +
                             " ns; it must be at least 0 and below 2^53, the end of simulated time");
        }
    }
}

Address::Address(const std::vector<Dimension>& dimensions) {
    for (const Dimension& dimension : dimensions) {
        sizes_.push_back(dimension.npus());
        strides_.push_back(npus_);
        if (dimension.npus() > (1U << 24) / npus_)
            throw InputError("the network has more than 16777216 NPUs");
        npus_ *= dimension.npus();
    }
}

}  // namespace dse::network
