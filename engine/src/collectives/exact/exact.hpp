// Whether there is a schedule that takes so long at most, without sums: found, or refuted.
#pragma once

#include <cstdint>

#include "base/cancellation.hpp"
#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

struct Decision {
    enum Answer : std::uint8_t { kFound, kRefuted, kUndecided };
    Answer answer = kUndecided;
    Sends sends;              ///< if found
    std::uint64_t fails = 0;  ///< contradictions met
};

/// Decides by which link each node gets each chunk, and then which chunk comes first on a link, and takes
/// back what has led to a contradiction. Places where that was often so are decided first (weighted degrees,
/// Boussemart et al. 2004). It starts again after some contradictions, more each time, as a first wrong
/// decision costs most. Undecided after `most_fails` of them, or when the checkpoint ends it.
///
/// Nodes copy all that they have. A byte is held per link and pair of chunks.
Decision decide(const Problem& problem, Picoseconds within, std::uint64_t seed, std::uint64_t most_fails,
                const Checkpoint& checkpoint);

}  // namespace dse::synthesis
