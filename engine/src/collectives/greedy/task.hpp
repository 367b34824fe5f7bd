// A problem as the greedy searches take it: links in order of destination, what each node lacks, as bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/problem/bits.hpp"
#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

/// Made once, and shared by all runs. Its links are numbered by destination, then as in the problem.
struct Task {
    /// `relayed`, if not empty: chunks per node that it is to get though it does not want them. Without it,
    /// if everyone wants all, switches get all chunks too; prune such schedules.
    explicit Task(const Problem& problem, const BitRows& relayed = {});

    const Problem* problem;
    std::vector<Link> links;
    std::vector<std::uint32_t> number_of;  ///< per link: its number in the problem
    std::vector<std::uint32_t> into;       ///< links of node v: into[v] … into[v + 1) - 1
    std::vector<std::uint32_t> out_of;     ///< likewise, as places in `leaving`
    std::vector<std::uint32_t> leaving;
    std::vector<Picoseconds> free_from;     ///< per link
    std::vector<Holding> holdings;          ///< by node, then time; of a chunk the first only
    std::vector<std::uint32_t> held_begin;  ///< holdings of node v: held_begin[v] … held_begin[v + 1) - 1
    BitRows settled;                        ///< per node: chunks that it has, or is not to get
    std::vector<std::uint32_t> lacks;       ///< per node: how many chunks it is to get
    BitRows wanted;                         ///< per NPU; empty: all chunks that NPUs are to get are wanted
    std::uint64_t wanted_deliveries = 0;    ///< how many of what nodes are to get is wanted
    bool may_be_redundant = false;          ///< whether nodes are to get chunks that they do not want

    bool is_wanted(std::uint32_t node, std::uint32_t chunk) const {
        return node < problem->npus && (wanted.empty() || has(wanted[node], chunk));
    }
};

/// "no way from NPU 3 to NPU 7 …": for a chunk that `node` cannot get.
[[noreturn]] void throw_unreachable(const Problem& problem, std::uint32_t node, std::uint32_t chunk);

}  // namespace dse::synthesis
