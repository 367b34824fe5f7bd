// Trees in steps of time, whose sends compete for links by prices.
#pragma once

#include <cstdint>
#include <vector>

#include "base/cancellation.hpp"
#include "collectives/problem/problem.hpp"
#include "collectives/search/sums.hpp"

namespace dse::synthesis {

/// Permutations of nodes that keep all links: where each leads links and chunks. All but the identity move
/// every link. Without any the identity is meant.
struct Images {
    std::vector<std::vector<std::uint32_t>> links, chunks;
};

/// Trees of sums and copies through a grid of links and steps of time. Each chunk takes what is cheapest for
/// itself; what several want at a time gets dearer, pass by pass, until messages take other ways or times
/// (negotiated congestion, McMurchie and Ebeling 1995). What is wanted after a pass is a schedule too, one
/// after the other where several want the same. Once there is one without conflicts less time is given. Ends
/// when `work` states were looked at, the time is `enough` or less, or the checkpoint ends it.
///
/// No switch copies or adds. With sums every NPU has a contribution to every chunk; without, a chunk has one
/// holder, at first. Every NPU wants all chunks. Of chunks that `images` lead to each other one is made, and
/// the others follow. `known` is the time of a schedule that is there: without sends if none better was
/// found.
FoundSums negotiate_trees(const Problem& problem, bool has_sums, const Images& images, Picoseconds known,
                          std::uint64_t work, const Effort& effort, const Checkpoint& checkpoint);

}  // namespace dse::synthesis
