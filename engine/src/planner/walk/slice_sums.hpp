// Sums over layers a … b-1, each added from its own first layer: not differences of prefix sums.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dse::planner {

/// Above, a table of all slices would take more than it saves.
inline constexpr std::size_t kMostLayersInTable = 256;

/// Bit for bit what a fresh sum of the slice gives; a table where the layers are few.
class SliceSums {
public:
    /// `values` must outlive the sums.
    explicit SliceSums(std::span<const double> values);

    double operator()(std::uint32_t a, std::uint32_t b) const {
        return table_.empty() ? added(a, b) : table_[a * width_ + b];
    }

private:
    double added(std::uint32_t a, std::uint32_t b) const;

    std::span<const double> values_;
    std::size_t width_;
    std::vector<double> table_;
};

}  // namespace dse::planner
