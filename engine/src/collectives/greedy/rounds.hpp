// Greedy searches where all links take the same time: everything that happens, happens in rounds.
#pragma once

#include "collectives/greedy/greedy.hpp"

namespace dse::synthesis {

/// Whether a run is one of rounds: all links are held until the chunk has arrived, for the same time, and
/// free from the start; everyone gets all chunks, which are there from the start; a link takes the oldest.
bool goes_in_rounds(const Task& task, const GreedyOptions& options);

/// The same run as that of the event loop, to the order of sends, for what goes in rounds. With a limit, a
/// chunk that has no way may be noticed only after it.
GreedyRun run_rounds(const Task& task, const GreedyOptions& options, Random random,
                     const Checkpoint& checkpoint);

}  // namespace dse::synthesis
