// Large neighbourhoods of a schedule.
#pragma once

#include "collectives/search/restarts.hpp"

namespace dse::synthesis {

/// Frees all sends after a moment, or all of some chunks, or those into some nodes, and solves that again;
/// `trials` times. A step is taken if the time falls, or stays and no more sends arrive then. `sends` must be
/// a schedule of the problem. Ends before when the time is `enough` or less, or when the checkpoint ends it.
Found improve(const Problem& problem, const Sends& sends, const Effort& effort, const Checkpoint& checkpoint);

}  // namespace dse::synthesis
