// When the sends of adding trees start: event by event, forwards or backwards in time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/cancellation.hpp"
#include "collectives/problem/calendar.hpp"
#include "collectives/trees/sum_trees.hpp"

namespace dse::synthesis {

inline constexpr std::uint32_t kNoHop = ~std::uint32_t{0};

/// Two hops of a tree between its root and a neighbour, of a sum there and a copy back, that need not wait
/// for each other: either end sends all that it has of other NPUs, and both have the full sum then.
struct Exchange {
    std::uint32_t sum = kNoHop;
    std::uint32_t copy = kNoHop;

    bool any() const { return sum != kNoHop; }
};

/// The hops of a tree that exchange sums, of neighbours the one with most behind it; none if there is no such
/// pair, or the root has nothing else.
Exchange exchange_of(const Problem& problem, const SumEnds& ends, const AddingTree& tree);

/// Starts of the hops of all trees, tree by tree, and when the last has arrived.
struct TreeStarts {
    std::vector<Picoseconds> starts;
    Picoseconds time = kNever;
};

/// Schedules trees whose hops stand in lists of their links. Keeps references to the problem and the trees;
/// after a tree has changed, `refresh` it. Where nodes have few engines, a hop takes one of either end: the
/// one at its start until its bytes have entered the link, the other one until they have arrived.
class TreeTimes {
public:
    /// `reserved` are sends of others, which forwards no hop may meet on a link; they are in order of start.
    /// With `exchanging` ends of chunks, roots exchange sums with a neighbour. Where links share lanes no
    /// node has few engines.
    TreeTimes(const Problem& problem, const std::vector<AddingTree>& trees, const Lanes& lanes = {},
              const std::vector<Send>& reserved = {}, const EndsOfChunks* exchanging = nullptr);

    /// Reads trees again, of which any may have changed.
    void refresh();

    /// Whenever a link is free, and hops wait for it, the one with the least key starts. The copies of a
    /// chunk follow its sums at once. Gives up, with the time kNever, once the end cannot come before
    /// `limit`.
    TreeStarts forwards(const std::vector<Picoseconds>& keys, const Checkpoint& checkpoint,
                        Picoseconds limit = kNever);

    /// The same from the end of time: every hop as late as possible, those with the greatest key last. Starts
    /// count from the first of them, and sends of others are not looked at.
    TreeStarts backwards(const std::vector<Picoseconds>& keys, const Checkpoint& checkpoint);

    /// Of a hop in the last schedule forwards, the one whose end let it start; kNoHop: it starts at 0.
    std::uint32_t cause_of(std::uint32_t hop) const { return cause_[hop]; }

    /// The hop that arrived last in the last schedule forwards; kNoHop without hops.
    std::uint32_t last() const { return last_; }

    std::uint32_t chunk_of(std::uint32_t hop) const {
        return static_cast<std::uint32_t>(std::upper_bound(first_.begin(), first_.end(), hop) -
                                          first_.begin() - 1);
    }

    std::size_t hops() const { return link_.size(); }
    std::size_t first_hop(std::uint32_t chunk) const { return first_[chunk]; }

private:
    using Waiting = std::pair<Picoseconds, std::uint32_t>;  // key, hop

    template <bool kBackwards>
    Picoseconds run(const std::vector<Picoseconds>& keys, const Checkpoint& checkpoint,
                    std::vector<Picoseconds>& starts, Picoseconds limit);
    template <bool kBackwards>
    void open(std::uint32_t gate, const std::vector<Picoseconds>& keys);
    void find_exchanges();
    void wait(std::uint32_t hop, Picoseconds key);
    bool is_reserved(std::uint32_t l, Picoseconds now);
    void sort_touched();
    bool has_engines(std::uint32_t l) const;
    void take_engines(std::uint32_t l);
    void free_engine(std::uint32_t node, bool of_sends, std::uint32_t hop, Picoseconds now);

    const Problem& problem_;
    const std::vector<AddingTree>& trees_;
    const Lanes lanes_;
    const EndsOfChunks* exchanging_;
    std::vector<Exchange> exchanges_;           ///< per chunk, hops of all trees; empty without any
    std::vector<std::uint32_t> exchanging_at_;  ///< per gate at their ends the chunk, or kNoHop
    std::vector<std::uint32_t> others_;  ///< per chunk how many hops into the root are left but for the one
    std::vector<std::uint32_t> others_by_;      ///< and which of them came last
    std::vector<Picoseconds> others_at_;        ///< and when
    std::vector<std::size_t> first_;            ///< per chunk; its gates are those from first + chunk on
    std::vector<std::uint32_t> link_;           ///< per hop, or the one that stands for it
    std::vector<std::uint32_t> inner_, outer_;  ///< per hop its gates
    std::vector<std::uint8_t> is_sum_;          ///< per hop
    std::vector<std::uint32_t> hop_of_;         ///< per gate the hop of which it is the outer one
    std::vector<std::uint32_t> sums_begin_, copies_begin_, inside_;  ///< per gate the hops further out
    std::vector<std::uint32_t> next_inside_;                         ///< while they are found

    std::vector<std::vector<Waiting>> queues_;        ///< per link
    std::vector<Picoseconds> free_at_;                ///< per link
    std::vector<std::vector<Picoseconds>> reserved_;  ///< per link; empty without sends of others
    std::vector<std::size_t> next_reserved_;
    std::vector<std::uint32_t> on_link_;              ///< per link the hop that started last
    std::vector<std::uint32_t> to_do_;                ///< per link the hops that have not started
    std::vector<std::uint32_t> sending_, receiving_;  ///< per node engines taken; empty without limits
    std::vector<std::uint32_t> freed_by_;             ///< per node the hop that freed an engine last
    std::vector<std::uint32_t> hop_on_;               ///< per link the hop that took engines last
    std::vector<Picoseconds> freed_at_;
    std::vector<Picoseconds> opened_at_;    ///< per gate
    std::vector<std::uint32_t> opened_by_;  ///< per gate the hop that arrived last
    std::vector<std::uint32_t> cause_;      ///< per hop
    std::uint32_t last_ = kNoHop;
    std::vector<std::uint32_t> closed_;  ///< per gate how many hops it waits for
    std::vector<std::uint32_t> items_, touched_;
    Calendar calendar_;
};

}  // namespace dse::synthesis
