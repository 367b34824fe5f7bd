// A partition problem as flat arrays: every default filled in, nodes that stay together already merged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace dse::partition {

enum class Objective : std::uint8_t { kShardingCost, kPipelineBottleneck, kProcessMapping, kLatency };

using Labels = std::vector<std::int32_t>;  ///< device of each node

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// A sum counts as within a limit, or not below a cost, up to rounding.
inline constexpr double kSlack = 1e-9;
inline double most_within(double capacity) { return capacity * (1 + kSlack); }
inline bool fits(double need, double capacity) { return need <= most_within(capacity); }

struct Edge {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t tensor = 0;  ///< edges of one tensor have one source and the same bytes
    double bytes = 0;
};

/// A matrix of pairs of devices.
class Square {
public:
    Square() = default;
    Square(std::size_t size, std::vector<double> values) : size_(size), values_(std::move(values)) {}
    double operator()(std::size_t a, std::size_t b) const { return values_[a * size_ + b]; }
    const double* row(std::size_t a) const { return values_.data() + a * size_; }

private:
    std::size_t size_ = 0;
    std::vector<double> values_;
};

struct Problem {
    Objective objective = Objective::kShardingCost;
    bool free_order = false;
    std::size_t nodes = 0;
    std::size_t devices = 0;
    std::vector<double> weight, memory;  ///< of nodes
    std::vector<Edge> edges;             ///< without self-loops
    std::uint32_t tensors = 0;
    Square distance, latency, per_byte;   ///< diagonal 0
    std::vector<double> speed, capacity;  ///< of devices; bytes
    double weight_limit = kInfinite;      ///< of every device
    std::vector<std::int32_t> pinned;     ///< device of each node, -1 where free
    std::vector<std::uint32_t> order;     ///< topological; of `latency` the order of execution
    std::vector<std::uint32_t> leader;    ///< first node in `order` of those on its device; else itself

    double transfer(std::size_t a, std::size_t b, double bytes) const {
        return a == b ? 0.0 : latency(a, b) + bytes * per_byte(a, b);
    }
    double total_weight() const;
    double total_speed() const;
    /// Costs that differ by less than this from `cost` are the same.
    double slack(double cost) const;
};

/// Edge indices by node: those that leave it, and those that reach it.
struct Incidence {
    explicit Incidence(const Problem& problem);
    std::vector<std::uint32_t> out_start, out, in_start, in;
};

/// For each device the lowest one that it could change names with and nothing would be different.
std::vector<std::uint32_t> interchangeable(const Problem& problem);

/// Level to which `amount` of weight fills devices of these starts and speeds (water filling): the least T
/// with sum of speed x max(0, T - start) = amount.
double fill_level(const std::vector<double>& start, const std::vector<double>& speed, double amount);

}  // namespace dse::partition
