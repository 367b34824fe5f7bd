// A schedule that is taken apart and put together again: sends by link and by chunk.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "collectives/problem/problem.hpp"
#include "collectives/schedules/link_slots.hpp"

namespace dse::synthesis {

/// The sends on each link, by time. Chunks can be removed, and inserted into the gaps.
class Timelines {
public:
    /// No delivery of `sends` may be redundant. Keeps a reference to the problem.
    Timelines(const Problem& problem, const Sends& sends);

    /// When the last send arrives, and how many arrive then.
    std::pair<Picoseconds, std::uint32_t> last_arrivals() const;

    Sends sends() const;

    /// The sends of a chunk.
    const std::vector<Send>& sends_of(std::uint32_t chunk) const { return trees_[chunk]; }

    /// The sends that arrive last.
    std::vector<Send> latest() const;

    /// The chunks on a link, in the order of their sends.
    std::vector<std::uint32_t> chunks_on(std::uint32_t link) const;

    /// Removes all sends of a chunk.
    void remove(std::uint32_t chunk);

    /// Removes the sends of a chunk into a node from which it is not sent on.
    void remove_into(std::uint32_t chunk, std::uint32_t node);

    /// Brings a chunk to the nodes that want it and lack it, each time the earliest way through the gaps;
    /// false, and nothing is inserted, if one would come at `limit` or later.
    bool insert(std::uint32_t chunk, Picoseconds limit);

    /// Puts back what has been removed, and removes what has been inserted, since the last call of `keep`.
    void undo();
    void keep() { changes_.clear(); }

private:
    struct Change {
        Send send;
        bool is_insertion;
    };

    void add(const Send& send);
    void take(const Send& send);
    Picoseconds gap(std::uint32_t link, Picoseconds from) const;
    void offer(std::uint32_t node, Picoseconds at, std::uint32_t by);

    const Problem& problem_;
    LinkSlots slots_;
    std::vector<std::vector<Send>> trees_;           ///< per chunk
    std::vector<std::vector<Holding>> held_;         ///< per chunk
    std::vector<std::vector<std::uint32_t>> wants_;  ///< per chunk; empty if everyone wants all
    std::vector<Change> changes_;

    // Ways of the chunk that is inserted: valid where the mark of a node equals the epoch.
    std::vector<std::pair<Picoseconds, std::uint32_t>> heap_;
    std::vector<Picoseconds> at_, start_;
    std::vector<std::uint32_t> by_, seen_, needed_, fixed_;
    std::uint32_t epoch_ = 0;
};

}  // namespace dse::synthesis
