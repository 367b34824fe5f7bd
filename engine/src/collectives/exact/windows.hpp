// When sends can start so that all arrives in time, and what follows for others when one is decided.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

/// The schedules that take `within` at most, as ranges: whether a chunk crosses a link and from when to when
/// it can start, and from when to when a node can get a chunk. Every node that wants a chunk or sends it on
/// gets it once. Decisions narrow the ranges, and no schedule that they allow is lost. They are undone in
/// turn.
class Windows {
public:
    enum Use : std::int8_t { kOpen = -1, kNot = 0, kSent = 1 };

    Windows(const Problem& problem, Picoseconds within);

    /// Narrows ranges until nothing follows any more; false: no schedule is left.
    bool settle();

    /// Decisions; false if they contradict what is known. `settle` comes next.
    bool send(std::uint32_t chunk, std::uint32_t link);
    bool leave_out(std::uint32_t chunk, std::uint32_t link);
    bool send_before(std::uint32_t link, std::uint32_t chunk, std::uint32_t later);

    std::size_t mark() const { return trail_.size(); }
    void undo(std::size_t mark);

    Use use(std::uint32_t chunk, std::uint32_t link) const {
        return static_cast<Use>(value_[send_of(chunk, link)]);
    }
    Picoseconds first(std::uint32_t chunk, std::uint32_t link) const {
        return value_[first_ + send_of(chunk, link)];
    }
    Picoseconds last(std::uint32_t chunk, std::uint32_t link) const {
        return value_[last_ + send_of(chunk, link)];
    }
    bool is_before(std::uint32_t link, std::uint32_t chunk, std::uint32_t later) const {
        return before_[pair_of(link, chunk, later)] != 0;
    }

    /// Whether a node has to get a chunk, and by which link is open.
    bool is_open(std::uint32_t chunk, std::uint32_t node) const;

    /// How often ranges of a node and a chunk were empty; larger for those that decide.
    double blame(std::uint32_t chunk, std::uint32_t node) const { return blame_[place_of(chunk, node)]; }

private:
    std::size_t send_of(std::uint32_t chunk, std::uint32_t link) const {
        return std::size_t{chunk} * problem_.links.size() + link;
    }
    std::size_t place_of(std::uint32_t chunk, std::uint32_t node) const {
        return std::size_t{chunk} * problem_.nodes + node;
    }
    std::size_t pair_of(std::uint32_t link, std::uint32_t chunk, std::uint32_t later) const {
        return (std::size_t{link} * problem_.chunks + chunk) * problem_.chunks + later;
    }
    Picoseconds has(std::uint32_t chunk, std::uint32_t node) const {
        return value_[has_ + place_of(chunk, node)];
    }
    Picoseconds due(std::uint32_t chunk, std::uint32_t node) const {
        return value_[due_ + place_of(chunk, node)];
    }

    void set(std::size_t index, Picoseconds value);
    void raise(std::size_t index, Picoseconds value);
    void lower(std::size_t index, Picoseconds value);
    bool fail(std::uint32_t chunk, std::uint32_t node, double share = 1.0);
    bool is_needed(std::uint32_t chunk, std::uint32_t node) const;

    bool settle_chunk(std::uint32_t chunk);
    void find_arrivals(std::uint32_t chunk);
    bool settle_sends(std::uint32_t chunk);
    bool settle_places(std::uint32_t chunk);
    bool settle_place(std::uint32_t chunk, std::uint32_t node);
    void settle_alike(std::uint32_t chunk, std::uint32_t later);
    bool settle_link(std::uint32_t link);
    bool settle_pairs(std::uint32_t link);
    bool settle_spans(std::uint32_t link);
    bool fits(std::uint32_t link, std::uint32_t chunk);
    void find_alike();
    void narrow_first(std::uint32_t chunk, std::uint32_t link, Picoseconds time);
    void narrow_last(std::uint32_t chunk, std::uint32_t link, Picoseconds time);

    const Problem& problem_;
    Picoseconds within_;
    std::size_t first_, last_, has_, due_;  ///< where they begin in `value_`
    std::vector<Picoseconds> value_;        ///< use, first and last per send, has and due per place
    std::vector<std::uint8_t> before_;      ///< per link and pair of chunks
    std::vector<std::pair<std::size_t, Picoseconds>> trail_;
    std::vector<std::uint8_t> wanted_, held_;                     ///< per place
    std::vector<std::pair<std::uint32_t, std::uint32_t>> alike_;  ///< that may change places, in turn
    std::vector<std::uint32_t> watched_;  ///< per chunk the node that gets those alike in turn
    std::vector<std::uint8_t> chunk_changed_, link_changed_;
    std::vector<double> blame_;
    bool changed_ = false;

    // Of the chunk or link that is looked at.
    std::vector<Picoseconds> arrival_;
    std::vector<std::pair<Picoseconds, std::uint32_t>> heap_;
    std::vector<std::uint32_t> sent_;
};

}  // namespace dse::synthesis
