// Lower bounds on prefixes of plans: least sum and least maximum of stage times, without labels.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "planner/exact/search.hpp"

namespace dse::planner::exact {

/// Rows of doubles, one value per layer, by a number of stages and a start: only the numbers that can be.
class StageRows {
public:
    /// `ranges` are the least and the largest number per start; none where the first is the larger.
    void assign(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& ranges, std::size_t width);

    /// Null where the number cannot be.
    double* at(std::uint32_t stages, std::uint32_t start) {
        return const_cast<double*>(std::as_const(*this).at(stages, start));
    }
    const double* at(std::uint32_t stages, std::uint32_t start) const {
        const Range& range = ranges_[start];
        if (stages < range.low || stages > range.high) return nullptr;
        return values_.data() + range.offset + (stages - range.low) * width_;
    }

private:
    struct Range {
        std::uint32_t low, high;
        std::size_t offset;
    };
    std::vector<Range> ranges_;
    std::vector<double> values_;
    std::size_t width_ = 0;
};

/// Least Σ and least max over any `i` stages on ranks [0, start) and layers [0, end) that fit.
class PrefixBounds {
public:
    /// Passes over all transitions of plans with the block's numbers of stages.
    PrefixBounds(const Problem& problem, CostModel model, StageOptions& options, const Block& block,
                 const std::function<bool()>& stop);

    /// A bound on every plan of the block; infinite where none fits.
    double root_ms() const { return root_ms_; }
    bool stopped() const { return stopped_; }

    /// Makes the bounds on what may precede a suffix; they are asked for after it only.
    void turn(const Block& block);

    /// Bounds on what may precede `suffix` stages that begin at a rank, by their first layer; null: nothing.
    const double* sums_ms(std::uint32_t suffix, std::uint32_t start) const {
        return before_sum_.at(suffix, start / unit_);
    }
    const double* longest_ms(std::uint32_t suffix, std::uint32_t start) const {
        return before_max_.at(suffix, start / unit_);
    }

private:
    /// How many stages can precede a start, in units, of plans with the block's numbers of stages.
    std::uint32_t low(std::uint32_t start) const;
    std::uint32_t high(std::uint32_t start) const;
    void pass(CostModel model, StageOptions& options, const std::function<bool()>& stop);

    std::uint32_t gpus_;
    std::uint32_t layers_;
    std::uint32_t unit_;  ///< all starts are multiples of it
    std::uint32_t fewest_;
    std::uint32_t most_;
    StageRows sum_;
    StageRows max_;
    StageRows before_sum_;
    StageRows before_max_;
    double root_ms_ = kInfinite;
    bool stopped_ = false;
};

/// Whether a cost model has groups of `gpus` from a rank on.
inline bool may_start(CostModel model, std::uint32_t start, std::uint32_t gpus) {
    return model == CostModel::compat || start % gpus == 0;
}

/// The least power of two that is not below `least`.
std::uint32_t least_power(std::uint32_t least);

}  // namespace dse::planner::exact
