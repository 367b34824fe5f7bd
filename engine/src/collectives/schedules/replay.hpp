// A schedule played again with other durations: every link keeps its order, every send waits for its chunk.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

/// The part of a schedule that a replay needs. Sends may come in any order; `end` is their nominal arrival.
struct NominalSends {
    std::span<const std::int32_t> from, to, link, chunk;
    std::span<const std::int64_t> start, end;
};

/// Numbers by link, or by send, times draws: row r, draw d is `values[r * draws + d]`.
struct Durations {
    std::span<const std::int64_t> arrival;
    std::span<const std::int64_t> held;  ///< empty: links are held until arrival
    std::size_t draws = 0;
    bool per_send = false;  ///< rows are sends in the order in which they were given; otherwise links
};

/// Of each link, what it adds to the critical paths of the draws (the last arrival and what it waited for).
struct Criticality {
    std::vector<std::int64_t> draws;     ///< on whose critical path it is
    std::vector<std::int64_t> arrivals;  ///< steps of the paths that end with an arrival over it
    std::vector<std::int64_t> waits;     ///< steps that end when the link is free again
    std::vector<std::int64_t> path_ps;   ///< the time of both
};

/// The sends of a schedule in an order in which each comes after all it waits for:
/// start = max(the link is free, the chunk is there), a recursion over max and plus. O(sends) a draw.
class Replay {
public:
    /// `holdings` has node * chunks + chunk of all that is there at first, ascending; with `sums`, a send
    /// waits for every earlier arrival of its chunk at its sender. Throws InputError for a send that leaves
    /// before its chunk is there.
    Replay(std::size_t links, std::int64_t chunks, const NominalSends& sends,
           std::span<const std::int64_t> holdings, bool sums);

    std::size_t sends() const { return send_count_; }
    std::size_t links() const { return links_; }

    /// When the last send of each draw arrives.
    std::vector<std::int64_t> times(const Durations& durations) const;
    /// The same, and which links decide it.
    std::vector<std::int64_t> times(const Durations& durations, Criticality& criticality) const;
    /// When each send of one draw starts, in the order in which sends were given.
    std::vector<std::int64_t> starts(const Durations& durations) const;

    /// Either a send, or a join, whose time is the later of two others. A place is an index of these.
    struct Step {
        std::uint32_t link;        ///< kNone for a join
        std::uint32_t after;       ///< the place that brings the chunk, or kNone
        std::uint32_t other;       ///< a join's second place; a send's number as given
        std::uint32_t link_order;  ///< the place of the link's send before it, or kNone
    };
    static constexpr std::uint32_t kNone = UINT32_MAX;
    const std::vector<Step>& steps() const { return steps_; }

private:
    class Builder;

    std::size_t links_ = 0;
    std::size_t send_count_ = 0;
    std::vector<Step> steps_;
};

}  // namespace dse::synthesis
