// Updates after the passes of a stage: gradients are reduced, weights updated and gathered.
#pragma once

#include <algorithm>

#include "prediction/memory/weights.hpp"
#include "prediction/steps/timer.hpp"

namespace dse::prediction {

/// When a chunk's gradients are reduced that are complete at `complete_s`, after those at `end_s`: the
/// reduction hides behind the `last_s` of passes that complete them, and slows them down.
inline double reduced_at_s(double end_s, double complete_s, double last_s, double taken_s) {
    return std::max(std::max(end_s, complete_s - last_s) + taken_s, complete_s + kContended * taken_s);
}

/// The time of gathering that is seen: `taken_s` for all chunks up to this one, `one_s` of them for this one,
/// behind `hidden_s` of passes before and the chunk's own.
inline double gather_seen_s(double taken_s, double one_s, double hidden_s, double forward_s, bool overlaps) {
    return overlaps ? std::max(kContended * one_s, taken_s - hidden_s - forward_s) : taken_s;
}

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
