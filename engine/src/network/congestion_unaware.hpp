// The congestion-unaware network: every message alone on its way (simulator spec, section 6.2).
#pragma once

#include <cstdint>
#include <vector>

#include "network/network.hpp"

namespace dse::network {

/// Delay = floor(hops * latency + size / bandwidth) in the lowest dimension in which two addresses differ.
class CongestionUnaware {
public:
    /// Throws InputError if a dimension has less than 2 NPUs, no bandwidth or a negative latency.
    explicit CongestionUnaware(const std::vector<Dimension>& dimensions);

    const Address& address() const { return address_; }

    /// ns from `source` to `destination` for `bytes` > 0; the ranks must differ.
    std::uint64_t delay_ns(std::uint32_t source, std::uint32_t destination, std::uint64_t bytes) const;

private:
    struct Link {
        Topology topology;
        std::uint32_t npus;
        double latency_ns;
        double bytes_per_ns;
    };

    Address address_;
    std::vector<Link> links_;
};

}  // namespace dse::network
