// The order of sends along given trees, where every link is needed almost all the time.
#pragma once

#include "collectives/routes/routes.hpp"

namespace dse::synthesis {

/// Per chunk, when its turn is to leave its holder, so that trees of one holder take turns.
using Turns = std::vector<Picoseconds>;

/// Sends along routes. Where chunks wait for a link, that goes first which feeds, one hop on, the link to
/// which most has still to come, or, if that is more, which has the longest way left. With turns that goes
/// first of which the turn, less the way left, is first: what flows steadily does not come in bursts.
/// Otherwise as schedule_routes, which knows ways only.
Sends schedule_trees(const Problem& problem, const Routes& routes, const Turns* turns, Picoseconds limit,
                     const Checkpoint& checkpoint);

}  // namespace dse::synthesis
