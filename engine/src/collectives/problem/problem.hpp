// The problem of a search for schedules: links, chunks, who has them and who wants them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace dse::synthesis {

using Picoseconds = std::int64_t;
inline constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max();

/// A directed link: a chunk that starts at t is there at t + arrival, and the link is free at t + held.
struct Link {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    Picoseconds arrival = 0;
    Picoseconds held = 0;
};

/// A chunk at a node, or on its way to it: it can be sent on from `at` on.
struct Holding {
    std::uint32_t node = 0;
    std::uint32_t chunk = 0;
    Picoseconds at = 0;
};

/// A chunk that a node is to have at the end.
struct Want {
    std::uint32_t node = 0;
    std::uint32_t chunk = 0;
};

/// Indices of links per node: those of node n are `links[begin[n] … begin[n + 1])`.
struct LinksPerNode {
    std::vector<std::uint32_t> begin;
    std::vector<std::uint32_t> links;
};

/// The links by the node at one of their ends, in their order.
LinksPerNode links_by(std::uint32_t nodes, const std::vector<Link>& links, std::uint32_t Link::* node);

/// How many links each node sends over at once, and how many it receives over; 0: as many as it has. Empty:
/// no node has a limit.
struct EngineLimits {
    std::vector<std::uint32_t> sends;
    std::vector<std::uint32_t> receives;

    bool empty() const { return sends.empty() && receives.empty(); }
};

/// Nodes 0 … npus-1 are NPUs, the others switches, which relay and want nothing.
struct Problem {
    std::uint32_t npus = 0;
    std::uint32_t nodes = 0;
    std::uint32_t chunks = 0;
    std::vector<Link> links;
    std::vector<Holding> holdings;
    bool everyone_wants_all = false;  ///< then `wants` is empty: every NPU wants every chunk
    std::vector<Want> wants;
    std::vector<Picoseconds> free_from;  ///< per link; empty: all are free from 0 on
    std::vector<std::uint8_t> copies;    ///< per node, as `can_copy`; empty: all can
    std::vector<std::uint8_t> adds;      ///< per node, as `can_add`; empty: all can
    EngineLimits engines;                ///< forward greedy searches and trees of sums keep to them
    LinksPerNode into;                   ///< by destination
    LinksPerNode out_of;                 ///< by source

    /// Whether what comes to a node once may leave it over several links.
    bool can_copy(std::uint32_t node) const { return copies.empty() || copies[node] != 0; }

    /// Whether all nodes can.
    bool can_copy_everywhere() const {
        return std::all_of(copies.begin(), copies.end(), [](std::uint8_t can) { return can != 0; });
    }

    /// Whether what comes to a node over several links may leave it as one sum.
    bool can_add(std::uint32_t node) const { return adds.empty() || adds[node] != 0; }

    /// Fills `into` and `out_of` from `links`.
    void index_links();
};

/// A chunk crosses a link from `start` on.
struct Send {
    std::uint32_t link = 0;
    std::uint32_t chunk = 0;
    Picoseconds start = 0;
};

/// Sends in any order, and when the last of them has arrived.
struct Sends {
    std::vector<Send> sends;
    Picoseconds time = 0;
};

/// Whether several hops further out may meet at a node: in a tree of sums it adds, in one of copies it
/// copies.
inline bool branches(const Problem& problem, std::uint32_t node, bool sums) {
    return sums ? problem.can_add(node) : problem.can_copy(node);
}

inline bool can_be_root(const Problem& problem, std::uint32_t node) {
    return problem.can_add(node) && problem.can_copy(node);
}

}  // namespace dse::synthesis
