// Pipelines of graphs that branch: stages as differences of ideals.
#pragma once

#include <functional>

#include "partition/problem/problem.hpp"

namespace dse::partition {

struct IdealsResult {
    Labels labels;  ///< empty if none below `upper` was found
    double cost = kInfinite;
    double bound = 0;  ///< no partition costs less
    bool complete = false;
};

/// The least `pipeline_bottleneck` of stages in the order of the devices, by branch and bound over ideals:
/// sets of nodes with all their predecessors, which is what the first stages together hold.
///
/// For a cost in question the ideals that the stages so far can have finished are listed: a stage takes no
/// longer than it, and leaves no more than the others could do. Nodes that no stage after this one would
/// rather receive from than compute are taken as long as there is time. What a stage receives counts from the
/// nearest sender, so that it depends on ideals alone: this is exact where a device receives from all earlier
/// ones alike, and a bound elsewhere. Costs between `lower` and `upper` are bisected, those just below
/// `upper` first. At most `most_states` ideals are kept of a stage. Tarnawski et al. 2020, arXiv:2006.16423,
/// has the dynamic program over ideals.
IdealsResult ideals_bottleneck(const Problem& problem, double lower, double upper, std::size_t most_states,
                               const std::function<bool()>& expired);

}  // namespace dse::partition
