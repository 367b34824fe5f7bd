// Tables of slice sums.
#include "planner/walk/slice_sums.hpp"

namespace dse::planner {

SliceSums::SliceSums(std::span<const double> values) : values_(values), width_(values.size() + 1) {
    if (values.size() > kMostLayersInTable) return;
    table_.resize(width_ * width_);
    for (std::size_t a = 0; a < values.size(); ++a) {
        double sum = 0;
        for (std::size_t b = a; b < values.size(); ++b) table_[a * width_ + b + 1] = sum += values[b];
    }
}

double SliceSums::added(std::uint32_t a, std::uint32_t b) const {
    double sum = 0;
    for (std::uint32_t i = a; i < b; ++i) sum += values_[i];
    return sum;
}

}  // namespace dse::planner
