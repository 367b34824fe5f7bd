// Addresses and delays without contention.
#include "network/congestion_unaware.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.hpp"

namespace dse::network {

namespace {

void check(const Dimension& dimension, std::size_t index) {
    const std::string key = "network dimension " + std::to_string(index) + ": ";
    if (dimension.npus < 2) {
        throw InputError(key + "npus is " + std::to_string(dimension.npus) + "; it must be at least 2");
    }
    if (!(dimension.bandwidth_gbps > 0.0) || !std::isfinite(dimension.bandwidth_gbps)) {
        throw InputError(key + "bandwidth is " + std::to_string(dimension.bandwidth_gbps) +
                         " GB/s; it must be above 0");
    }
    if (!(dimension.latency_ns >= 0.0) || !std::isfinite(dimension.latency_ns)) {
        throw InputError(key + "latency is " + std::to_string(dimension.latency_ns) +
                         " ns; it must be at least 0");
    }
}

}  // namespace

Topology topology_named(const std::string& name) {
    if (name == "Ring") return Topology::kRing;
    if (name == "FullyConnected") return Topology::kFullyConnected;
    if (name == "Switch") return Topology::kSwitch;
    throw InputError("topology is '" + name + "'; allowed are Ring, FullyConnected, Switch");
}

Address::Address(const std::vector<Dimension>& dimensions) {
    for (const Dimension& dimension : dimensions) {
        sizes_.push_back(dimension.npus);
        strides_.push_back(npus_);
        if (dimension.npus > (1U << 24) / npus_) throw InputError("the network has more than 16777216 NPUs");
        npus_ *= dimension.npus;
    }
}

CongestionUnaware::CongestionUnaware(const std::vector<Dimension>& dimensions) : address_(dimensions) {
    if (dimensions.empty()) throw InputError("the network has no dimension; it needs at least one");
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
        check(dimensions[i], i);
        // 1 GB/s of a network is 2^30 bytes in 10^9 ns: multiply first, then divide, as the reference does.
        const double bytes_per_ns = dimensions[i].bandwidth_gbps * 1073741824 / 1000000000;
        links_.push_back(
            {dimensions[i].topology, dimensions[i].npus, dimensions[i].latency_ns, bytes_per_ns});
    }
}

std::uint32_t CongestionUnaware::hops(std::uint32_t dimension, std::uint32_t offset) const {
    const Link& link = links_[dimension];
    if (link.topology == Topology::kSwitch) return 2;
    return link.topology == Topology::kRing ? std::min(offset, link.npus - offset) : 1;
}

Wire CongestionUnaware::wire(std::uint32_t source, std::uint32_t destination) const {
    for (std::uint32_t dimension = 0; dimension < links_.size(); ++dimension) {
        const std::uint32_t npus = links_[dimension].npus;
        const std::uint32_t from = source % npus;
        const std::uint32_t to = destination % npus;
        if (from != to) return {dimension, hops(dimension, (to + npus - from) % npus)};
        source /= npus;
        destination /= npus;
    }
    return {};
}

}  // namespace dse::network
