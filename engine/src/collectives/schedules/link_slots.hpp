// The timetable of every link: chunks in the order of their starts, and the gaps between them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

class LinkSlots {
public:
    struct Slot {
        Picoseconds start;
        std::uint32_t chunk;
    };

    /// Keeps a reference to the links.
    explicit LinkSlots(const std::vector<Link>& links) : links_(links), slots_(links.size()) {}

    std::span<const Slot> on(std::uint32_t link) const { return slots_[link]; }

    void add(const Send& send);
    void take(const Send& send);

    /// The earliest start on a link, not before `from`.
    Picoseconds earliest(std::uint32_t link, Picoseconds from) const;

    /// The latest start on a link with which a chunk is there at `until`; below 0 if there is none after it.
    Picoseconds latest(std::uint32_t link, Picoseconds until) const;

private:
    const std::vector<Link>& links_;
    std::vector<std::vector<Slot>> slots_;
};

}  // namespace dse::synthesis
