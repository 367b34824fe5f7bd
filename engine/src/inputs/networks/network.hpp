// The network as the simulator sees it: dimensions, addresses of ranks, faults.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "inputs/networks/shape.hpp"

namespace dse::network {

/// One dimension; the first varies fastest in a rank's address.
struct Dimension {
    std::shared_ptr<const Shape> shape;
    double bandwidth_gbps = 0.0;  ///< per link; 1 GB/s is 2^30 bytes in 10^9 ns
    double latency_ns = 0.0;      ///< per hop

    std::uint32_t npus() const { return shape->npus(); }
    /// Multiply first, then divide, as the reference does.
    double bytes_per_ns() const { return bandwidth_gbps * 1073741824 / 1000000000; }
};

/// Checks bandwidths and latencies. Throws InputError naming the dimension.
void check(const std::vector<Dimension>& dimensions);

/// A link that is removed or slowed, from the start or from a tick on.
struct LinkFault {
    std::uint32_t from = 0;  ///< device: an NPU or a switch
    std::uint32_t to = 0;
    bool removed = false;
    double bandwidth_factor = 1.0;
    double latency_factor = 1.0;
    std::uint64_t at_ns = 0;
};

/// Ranks as addresses in the dimensions.
class Address {
public:
    explicit Address(const std::vector<Dimension>& dimensions);

    std::uint32_t npus() const { return npus_; }
    std::size_t dimensions() const { return sizes_.size(); }
    std::uint32_t size(std::size_t dimension) const { return sizes_[dimension]; }
    std::uint32_t stride(std::size_t dimension) const { return strides_[dimension]; }
    std::uint32_t coordinate(std::uint32_t rank, std::size_t dimension) const {
        return rank / strides_[dimension] % sizes_[dimension];
    }

private:
    std::vector<std::uint32_t> sizes_;
    std::vector<std::uint32_t> strides_;
    std::uint32_t npus_ = 1;
};

}  // namespace dse::network
