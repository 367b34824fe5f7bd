// A greedy search where switches only pass messages on: NPU after NPU gets each chunk by a message of its
// own.
#pragma once

#include "base/cancellation.hpp"
#include "collectives/problem/problem.hpp"
#include "collectives/problem/random.hpp"

namespace dse::synthesis {

/// How a message is chosen, by when it can arrive.
struct Passing {
    double price =
        0.0;  ///< the share of the time that its way takes on free links that is added; -1: by starts
    bool is_even = false;  ///< of equal ones NPUs that have sent and got little go first
};

/// Whether everyone wants all, and NPUs and chunks are few enough.
bool can_pass(const Problem& problem);

/// Sends next whichever message can arrive first, on the links as they are free, past switches only: of the
/// chunks that its sender has and its receiver lacks the one that fewest NPUs have. Given up, and empty with
/// time kNever, when it takes `limit`.
///
/// Throws InputError if a chunk cannot reach an NPU.
Sends pass_greedily(const Problem& problem, const Passing& passing, Random& random, Picoseconds limit,
                    const Checkpoint& checkpoint);

}  // namespace dse::synthesis
