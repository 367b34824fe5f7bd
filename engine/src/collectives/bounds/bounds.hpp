// Lower bounds on the time of a collective: what links can deliver, and how far chunks have to go.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/bounds/capacity.hpp"
#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

/// A bound that is about one node.
struct NodeBound {
    Picoseconds time = 0;
    std::uint32_t node = 0;
};

/// A longest of the shortest ways.
struct WayBound {
    Picoseconds time = 0;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
};

/// A bound that is about chunks which enter a set of nodes: those that enter at `moment` or later decide it.
struct EntryBound {
    Picoseconds time = 0;
    Picoseconds moment = 0;
};

/// Chunks that enter a set `inner` of nodes and are wanted by the NPUs `wanting` in it, each by all of them.
struct Entry {
    std::span<const Picoseconds> start;   ///< per node from when on the chunks can be there
    std::span<const std::uint8_t> inner;  ///< per node whether it is in the set
    std::span<const std::uint8_t> wanting;
};

/// The links of a graph as bounds see them; `npus` of the `nodes` are NPUs.
struct TimedLinks {
    std::uint32_t npus = 0;
    std::uint32_t nodes = 0;
    std::vector<Link> links;
    LinksPerNode into;
    LinksPerNode out_of;
    std::int64_t own = 0;            ///< how many chunks each NPU has at first; 0 where it does not matter
    std::vector<Picoseconds> later;  ///< per node when it can have chunks of others; empty without `own`

    void index_links();
    void limit_own(std::int64_t chunks);
};

/// Per node how long the shortest way from `sources` is (towards them if `reversed`); kNever without a way.
std::vector<Picoseconds> distances(const TimedLinks& graph, std::span<const std::uint32_t> sources,
                                   bool reversed);

/// The longest of the shortest ways between two NPUs, among those from up to `sources` NPUs.
WayBound longest_way(const TimedLinks& graph, std::uint32_t sources);

/// When links into (out of if `reversed`) a node can have delivered `need` of it, for the node where it is
/// latest. `wait` per node: before that it has nothing to send (after the end minus that it can send nothing
/// on any more, if `reversed`).
NodeBound busiest_node(const TimedLinks& graph, std::span<const std::int64_t> need,
                       std::span<const Picoseconds> wait, bool reversed);

/// When all links (into NPUs only if `npus_only`) can have delivered `need` chunks.
Picoseconds all_deliveries(const TimedLinks& graph, std::int64_t need, std::span<const Picoseconds> wait,
                           bool npus_only);

/// Per node when a chunk from outside a set can be there first, if it can be at a node outside at `first`.
std::vector<Picoseconds> entry_times(const TimedLinks& graph, std::span<const Picoseconds> first,
                                     std::span<const std::uint8_t> inside);

/// Numbers of the sets of nodes that links join which take at most `longest` ps, by the least node of each.
std::vector<std::uint32_t> joined_by(const TimedLinks& graph, Picoseconds longest);

/// Links by what they do for chunks that enter a set of nodes and are wanted by `wanting` nodes in it.
struct EntryLinks {
    std::vector<AlikeLinks> to_wanting;  ///< from outside to nodes that want the chunks
    std::vector<AlikeLinks> to_others;   ///< from outside to the others
    std::vector<AlikeLinks> inside;      ///< from inside to nodes that want them
    std::int64_t wanting = 0;
};

EntryLinks entry_links(const TimedLinks& graph, const Entry& entry);

/// When links into the set can have delivered `need` chunks once.
Picoseconds cut(const EntryLinks& links, std::int64_t need);

/// When the links into a set can have delivered `need` chunks so that all can go on to one wanting node
/// inside, for the node that is latest among some.
NodeBound deepest_node(const TimedLinks& graph, const Entry& entry, std::int64_t need);

/// When all wanting nodes can have `need` chunks: `dse/collectives/bounds/windows.py` has the proof.
EntryBound entry_window(const EntryLinks& links, std::int64_t need);

}  // namespace dse::synthesis
