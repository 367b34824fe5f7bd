// The choice of a link in a greedy search: what it has seen of its sender's log, and the rules.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/greedy/greedy_state.hpp"
#include "collectives/problem/bits.hpp"

namespace dse::synthesis {

class Choice {
public:
    /// Keeps a reference to the state.
    explicit Choice(GreedyState& state);

    /// A chunk that the link could carry to its destination and that no link has claimed, or kNone.
    std::uint32_t choose(std::uint32_t link, Picoseconds now);

    /// Counts of what a link has seen so far, for `could_carry`.
    std::uint32_t cursor(std::uint32_t link) const { return cursor_[link]; }

    /// Whether the sender of a link had a chunk in time; only of chunks taken at this moment. `cursor_before`
    /// is what the link had seen before this moment.
    bool could_carry(std::uint32_t link, std::uint32_t cursor_before, std::uint32_t chunk,
                     Picoseconds now) const;

    /// Since when a link could carry something that its receiver lacks; kNever: there is nothing yet.
    Picoseconds ready_since(std::uint32_t link);

    /// A node has got a chunk.
    void note(std::uint32_t chunk) {
        if (!holders_.empty()) ++holders_[chunk];
    }

    /// Soon `choose` is called for the link.
    void prepare(std::uint32_t link) const {
        __builtin_prefetch(state_.logs.chunks(state_.task.links[link].from) + cursor_[link]);
    }

private:
    Picoseconds horizon(std::uint32_t link, Picoseconds now) const;
    std::uint32_t choose_oldest(std::uint32_t link, Picoseconds now);
    std::uint32_t choose_any(const Word* open, const Word* taken);
    std::uint32_t choose_best(const Word* open, std::uint32_t v);
    std::uint32_t score_of(std::uint32_t chunk, std::uint32_t v) const;
    bool has_open(const Word* open, const Word* taken) const;

    GreedyState& state_;
    Rule rule_;
    std::vector<std::uint32_t> cursor_;  ///< per link: what it has seen of its sender's log
    BitRows open_;                       ///< per link: what it has seen; not for kOldest
    std::vector<std::uint32_t> holders_, rank_;
    bool prefers_rare_ = false;  ///< kNeeded: among equals
};

}  // namespace dse::synthesis
