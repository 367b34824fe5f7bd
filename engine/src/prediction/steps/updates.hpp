// Updates after the passes of a stage: gradients are reduced, weights updated and gathered.
#pragma once

#include "prediction/memory/weights.hpp"
#include "prediction/steps/timer.hpp"

namespace dse::prediction {

/// Share of the gradients reduced after the last product: the last bucket has nothing to hide behind.
inline constexpr double kFirstBucket = 0.05;

/// The times of one NPU under a plan, for the parameters that it holds.
class Updates {
public:
    Updates(const Sizes& sizes, const Groups& groups, Timer& timer)
        : sizes_(sizes), groups_(groups), timer_(timer) {}

    /// Of the gradients of one backward pass, where ZeRO is below 3.
    double reduce_s(const Weights& held) const;
    /// Of the weights that ZeRO-1 and 2 updated in shards.
    double gather_s(const Weights& held) const;
    /// Adam on the share of each rank, and the norm of all gradients that it holds.
    double optimizer_s(const Weights& held) const;

private:
    const Sizes& sizes_;
    const Groups& groups_;
    Timer& timer_;
};

}  // namespace dse::prediction
