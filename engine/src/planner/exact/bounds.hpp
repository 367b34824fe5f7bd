// Lower bounds on prefixes of plans: least sum and least maximum of stage times, without labels (spec 11.3).
#pragma once

#include <cstdint>
#include <vector>

#include "planner/exact/search.hpp"

namespace dse::planner::exact {

/// Least Σ and least max over any `i` stages on ranks [0, start) and layers [0, end) that fit.
class PrefixBounds {
public:
    /// Passes over all transitions; `most` is the largest of the block's stage counts.
    PrefixBounds(const Problem& problem, CostModel model, StageOptions& options, const Block& block,
                 const std::function<bool()>& stop);

    /// A bound on every plan of the block; infinite where none fits.
    double root_ms() const { return root_ms_; }
    bool stopped() const { return stopped_; }

    /// Bounds on what may precede `suffix` stages that begin at a rank and layer.
    double sum_ms(std::uint32_t suffix, std::uint32_t start, std::uint32_t layer) const {
        return before_sum_[index(suffix, start, layer)];
    }
    double longest_ms(std::uint32_t suffix, std::uint32_t start, std::uint32_t layer) const {
        return before_max_[index(suffix, start, layer)];
    }

private:
    std::size_t index(std::uint32_t stages, std::uint32_t start, std::uint32_t layer) const {
        return (std::size_t{stages} * starts_ + start / unit_) * (layers_ + 1) + layer;
    }
    void pass(CostModel model, StageOptions& options, const std::function<bool()>& stop);
    void finish(const Problem& problem, StageOptions& options, const Block& block);

    std::uint32_t gpus_;
    std::uint32_t layers_;
    std::uint32_t unit_;  ///< all starts are multiples of it
    std::uint32_t starts_;
    std::uint32_t least_;
    std::uint32_t fewest_;
    std::uint32_t most_;
    std::vector<double> sum_;
    std::vector<double> max_;
    std::vector<double> before_sum_;
    std::vector<double> before_max_;
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
