// The congestion-unaware network: every message alone on its way (simulator spec, section 6.2).
#pragma once

#include <cstdint>
#include <vector>

#include "network/network.hpp"

namespace dse::network {

/// The way of a message as far as its delay depends on it.
struct Wire {
    std::uint32_t dimension = 0;  ///< the lowest one in which the two addresses differ
    std::uint32_t hops = 0;

    bool operator==(const Wire&) const = default;
};

/// Delay = floor(hops * latency + size / bandwidth) in the lowest dimension in which two addresses differ.
class CongestionUnaware {
public:
    /// Throws InputError if a dimension has less than 2 NPUs, no bandwidth or a negative latency.
    explicit CongestionUnaware(const std::vector<Dimension>& dimensions);

    const Address& address() const { return address_; }

    /// ns from `source` to `destination` for `bytes` > 0; the two must differ.
    std::uint64_t delay_ns(std::uint32_t source, std::uint32_t destination, std::uint64_t bytes) const {
        return delay_ns(wire(source, destination), bytes);
    }

    Wire wire(std::uint32_t source, std::uint32_t destination) const;

    /// Hops between two coordinates of a dimension that are `offset` apart, 0 < offset < size.
    std::uint32_t hops(std::uint32_t dimension, std::uint32_t offset) const;

    std::uint64_t delay_ns(Wire wire, std::uint64_t bytes) const {
        const Link& link = links_[wire.dimension];
        return static_cast<std::uint64_t>(wire.hops * link.latency_ns +
                                          static_cast<double>(bytes) / link.bytes_per_ns);
    }

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
