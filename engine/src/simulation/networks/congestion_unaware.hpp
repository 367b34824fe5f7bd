// The congestion-unaware network: every message alone on its way.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "base/cancellation.hpp"
#include "base/time.hpp"
#include "inputs/networks/network.hpp"

namespace dse::network {

/// The way of a message as far as its delay depends on it, in a dimension with equal links.
struct Wire {
    std::uint32_t dimension = 0;  ///< the lowest one in which the two addresses differ
    std::uint32_t hops = 0;

    auto operator<=>(const Wire&) const = default;
};

/// From a member of a list to the one k + 1 places ahead, k from 0; if there are fewer, the last one counts.
using ListWires = std::vector<Wire>;

/// Delay = floor(hops * latency + size / bandwidth) in the lowest dimension in which two addresses differ.
///
/// In a dimension with unequal links: floor(sum of latencies + size / least bandwidth) over the route.
class CongestionUnaware {
public:
    /// Throws InputError if a dimension has no bandwidth or a negative latency.
    explicit CongestionUnaware(const std::vector<Dimension>& dimensions, const Checkpoint& checkpoint = {});

    const Address& address() const { return address_; }
    const Shape& shape(std::uint32_t dimension) const { return *links_[dimension].shape; }

    /// ns from `source` to `destination` for `bytes` > 0, the end of time at most; the two must differ.
    Time delay_ns(std::uint32_t source, std::uint32_t destination, std::uint64_t bytes) const;

    Wire wire(std::uint32_t source, std::uint32_t destination) const;

    Time delay_ns(Wire wire, std::uint64_t bytes) const {
        const Link& link = links_[wire.dimension];
        return whole_ns(wire.hops * link.latency_ns + static_cast<double>(bytes) / link.bytes_per_ns);
    }

private:
    struct Path {
        double latency_ns, bytes_per_ns;
    };
    struct Link {
        std::shared_ptr<const Shape> shape;
        double latency_ns;
        double bytes_per_ns;
        std::vector<Path> paths;  ///< with unequal links: by source, then destination
    };

    static std::vector<Path> paths_of(const Shape& shape, const Checkpoint& checkpoint);

    Address address_;
    std::vector<Link> links_;
};

}  // namespace dse::network
