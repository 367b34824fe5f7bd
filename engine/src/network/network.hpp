// What a network is to the simulator: something that delivers messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dse::network {

enum class Topology : std::uint8_t { kRing, kFullyConnected, kSwitch };

/// One dimension; the first varies fastest in a rank's address.
struct Dimension {
    Topology topology = Topology::kRing;
    std::uint32_t npus = 0;
    double bandwidth_gbps = 0.0;  ///< per link; 1 GB/s is 2^30 bytes in 10^9 ns
    double latency_ns = 0.0;      ///< per hop
};

/// Ranks as addresses in the dimensions (simulator spec, section 2.3).
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

/// Topology by its name in network.yml. Throws InputError with the allowed names.
Topology topology_named(const std::string& name);

}  // namespace dse::network
