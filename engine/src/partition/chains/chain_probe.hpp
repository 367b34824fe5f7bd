// Whether devices can share a chain within a cost: what the bisection of chain_bottleneck asks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "partition/chains/chain_sums.hpp"

namespace dse::partition {

struct Piece {
    std::size_t begin, end, device;
};
using Pieces = std::vector<Piece>;  ///< from the last to the first

/// Whether every device can stay within a cost.
class Probe {
public:
    virtual ~Probe() = default;
    /// Nothing says nothing once `expired`.
    virtual std::optional<Pieces> within(double cost, const std::function<bool()>& expired) = 0;
    /// The same by a search that is quick, and may find nothing where there is something.
    virtual std::optional<Pieces> quickly_within(double, const std::function<bool()>&) {
        return std::nullopt;
    }
    /// The same however long it takes, for once.
    virtual std::optional<Pieces> anyhow_within(double cost) {
        return within(cost, [] { return false; });
    }
};

/// Devices in their own order; some may stay empty.
std::unique_ptr<Probe> probe_fixed_order(const Problem& problem, const Chain& chain);

/// Devices in any order.
std::unique_ptr<Probe> probe_any_order(const Problem& problem, const Chain& chain);

}  // namespace dse::partition
