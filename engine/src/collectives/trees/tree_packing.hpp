// Trees that span all NPUs, packed into the capacities of links.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/cancellation.hpp"
#include "collectives/bounds/flow_bounds.hpp"
#include "collectives/problem/problem.hpp"
#include "collectives/problem/random.hpp"

namespace dse::synthesis {

inline constexpr std::uint32_t kNoTrack = ~std::uint32_t{0};

/// A link, or two tracks through a switch, one after the other; trees use it `capacity` times at most.
struct Track {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    Amount capacity = 0;
    Picoseconds time = 0;
    std::uint32_t link = kNoTrack;
    std::uint32_t first = kNoTrack;
    std::uint32_t second = kNoTrack;
};

/// Trees with `supply.of[v]` copies from each root v are to reach all `supply.sinks`, over tracks.
struct TrackGraph {
    std::uint32_t nodes = 0;
    std::vector<Track> tracks;
    Supply supply;
};

/// Links with what they can deliver by a time. Sinks are the NPUs, and those switches to which the whole
/// supply can flow as well: these may stand in every tree, and send one arrival on many times.
TrackGraph tracks_of(const Problem& problem, Picoseconds time);

/// Replaces the links of switches that are no sinks by tracks past them, without taking flow from any sink
/// (edge splitting: Mader, Jackson, Frank; where each switch has as much in as out nothing is lost).
/// False if it took some: the time has to be longer.
bool split_switches(TrackGraph& graph, const Checkpoint& checkpoint);

struct PackedTree {
    std::uint32_t root = 0;
    Amount copies = 0;
    std::vector<std::uint32_t> tracks;  ///< each after the one that leads to its start
};

/// Trees from every root to all sinks, as many copies as it has, within the capacities. They exist if each
/// set of nodes lets in what is outside of it (Edmonds 1973); found one track at a time, for many copies at
/// once (Bérczi and Frank 2010): a track is taken as often as no set gets too little for what is left. The
/// track that arrives first is tried first; `noise` changes that. Time: about a flow per track of a tree, and
/// one per track that has no room.
///
/// Nothing if some set lets in too little.
std::optional<std::vector<PackedTree>> pack_trees(TrackGraph graph, double noise, Random& random,
                                                  const Checkpoint& checkpoint);

}  // namespace dse::synthesis
