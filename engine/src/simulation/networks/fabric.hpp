// All links of a network of several dimensions, and the way between any two NPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/flat_map.hpp"
#include "inputs/networks/network.hpp"
#include "inputs/networks/shape.hpp"

namespace dse::network {

/// Links of a network whose links are simulated, in all dimensions together: some hundred bytes each.
inline constexpr std::uint64_t kMostLinks = 1 << 22;

/// A directed link with its own latency and bandwidth.
struct FabricLink {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    double latency_ns = 0.0;
    double bytes_per_ns = 0.0;
    bool removed = false;
};

/// A product of shapes: each line of NPUs along a dimension has the links and switches of its shape.
///
/// A message corrects its coordinates dimension by dimension, the first one first, which cannot deadlock as
/// long as the routes inside a dimension cannot. Devices 0 … N-1 are the NPUs, switches follow dimension by
/// dimension. Pairs whose way uses a removed link take the shortest way that is left, if there is one.
class Fabric {
public:
    /// Throws InputError for more than kMostLinks links.
    explicit Fabric(const std::vector<Dimension>& dimensions, const Checkpoint& checkpoint = {});

    std::uint32_t npus() const { return address_.npus(); }
    std::uint32_t devices() const { return devices_; }
    const std::vector<FabricLink>& links() const { return links_; }
    const FabricLink& link(std::uint32_t index) const { return links_[index]; }
    /// The index of the link between two devices, null if there is none.
    const std::uint32_t* link_between(std::uint32_t from, std::uint32_t to) {
        return link_between_.find(pair_of(from, to));
    }
    /// The device of a local one on the line along `dimension` that goes through `npu`.
    std::uint32_t device_on_line(std::uint32_t dimension, std::uint32_t npu, std::uint32_t local) const {
        return device_of(lines_[dimension], npu, local);
    }

    /// Indices of the links from NPU to NPU, remembered. Valid until the next call of a non-const function.
    /// Throws SimulationError if removed links leave no way.
    std::span<const std::uint32_t> route(std::uint32_t source, std::uint32_t destination,
                                         const Checkpoint& checkpoint = {});

    /// Slows or removes a link from now on; routes are found again. Throws InputError if there is no such
    /// link.
    void degrade(const LinkFault& fault);

private:
    struct Line {
        std::shared_ptr<const Shape> shape;
        std::uint32_t stride = 1;
        std::uint32_t first_switch = 0;
    };
    struct Pair {
        std::uint64_t key = 0;
        std::uint64_t hash() const { return mix_bits(key); }
        bool operator==(const Pair&) const = default;
    };
    struct Range {
        std::uint32_t begin = 0, end = 0;
    };

    static Pair pair_of(std::uint32_t a, std::uint32_t b) {
        return {static_cast<std::uint64_t>(a) << 32 | b};
    }
    std::uint32_t device_of(const Line& line, std::uint32_t npu, std::uint32_t local) const;
    void add_links(const Dimension& dimension, const Line& line, const Checkpoint& checkpoint);
    void append_route(std::uint32_t source, std::uint32_t destination);
    void append_detour(std::uint32_t source, std::uint32_t destination, const Checkpoint& checkpoint);

    Address address_;
    std::vector<Line> lines_;  ///< per dimension
    std::uint32_t devices_ = 0;
    std::vector<FabricLink> links_;
    FlatMap<Pair, std::uint32_t> link_between_;
    FlatMap<Pair, Range> range_of_;
    std::vector<std::uint32_t> route_links_;
};

}  // namespace dse::network
