// Greedy searches forward in time where all links take the same time, and take any chunk: chosen from words
// of bits, without logs of what came when.
#pragma once

#include "collectives/greedy/greedy.hpp"

namespace dse::synthesis {

/// Whether a run is one of rounds (see rounds.hpp), forward in time, whose links take any chunk.
bool goes_in_any_rounds(const Task& task, const GreedyOptions& options);

/// In each round no link stays idle that could carry a chunk. Sends are given by destination, then by start.
GreedyRun run_any_rounds(const Task& task, const GreedyOptions& options, Random random,
                         const Checkpoint& checkpoint);

}  // namespace dse::synthesis
