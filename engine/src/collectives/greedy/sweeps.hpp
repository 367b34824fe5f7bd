// Greedy searches in rounds, forward in time, on networks too large for a cache: several rounds in one sweep
// over the nodes.
#pragma once

#include <cstddef>

#include "collectives/greedy/greedy.hpp"

namespace dse::synthesis {

/// Whether what goes in rounds goes in sweeps too: forward in time, with something to send on every link.
bool goes_in_sweeps(const Task& task, const GreedyOptions& options);

/// The same run as that in rounds, to the order of sends. What is at work at a time takes about
/// `cache_bytes`.
GreedyRun run_sweeps(const Task& task, const GreedyOptions& options, Random random,
                     const Checkpoint& checkpoint, std::size_t cache_bytes);

}  // namespace dse::synthesis
