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

std::uint64_t CongestionUnaware::delay_ns(std::uint32_t source, std::uint32_t destination,
                                          std::uint64_t bytes) const {
    for (const Link& link : links_) {
        const std::uint32_t from = source % link.npus;
        const std::uint32_t to = destination % link.npus;
        source /= link.npus;
        destination /= link.npus;
        if (from == to) continue;
        std::uint32_t hops = 1;
        if (link.topology == Topology::kSwitch) hops = 2;
        if (link.topology == Topology::kRing) {
            const std::uint32_t clockwise = (to + link.npus - from) % link.npus;
            hops = std::min(clockwise, link.npus - clockwise);
        }
        return static_cast<std::uint64_t>(hops * link.latency_ns +
                                          static_cast<double>(bytes) / link.bytes_per_ns);
    }
    return 0;
}

}  // namespace dse::network
