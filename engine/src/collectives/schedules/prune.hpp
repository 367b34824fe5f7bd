// Making a schedule tidy: without what no node needs, and every send as early as the order allows.
#pragma once

#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

/// The sends without deliveries that are redundant, latest first: of a chunk that the node has already, or
/// that it neither wants nor sends on. Valid schedules stay valid.
Sends pruned(const Problem& problem, Sends sends);

/// The same sends, each as early as the order of its link and the arrival of its chunk allow; no later than
/// before. Every node must get a chunk once at most: prune first.
Sends compacted(const Problem& problem, Sends sends);

}  // namespace dse::synthesis
