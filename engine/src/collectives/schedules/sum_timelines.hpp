// An all-reduce that is taken apart and put together again: per chunk a tree of sums and a tree of copies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/problem/problem.hpp"
#include "collectives/schedules/link_slots.hpp"

namespace dse::synthesis {

/// Sums of a chunk go up a tree of sends to its root, copies of the full sum go down another from there.
/// Without sums the root has the chunk at first.
struct SumTrees {
    std::uint32_t root = 0;
    std::vector<Send> sums, copies;
};

/// The sends of all chunks on each link, by time. A tree branches at NPUs, and at switches that add, or copy;
/// others pass each message on. Keeps a reference to the problem.
class SumTimelines {
public:
    /// Of each chunk the trees, which may be empty.
    SumTimelines(const Problem& problem, std::vector<SumTrees> trees);

    const std::vector<SumTrees>& trees() const { return trees_; }

    /// The sends that arrive last.
    std::vector<Send> latest() const;

    /// The chunks on a link, in the order of their sends.
    std::span<const LinkSlots::Slot> on(std::uint32_t link) const { return slots_.on(link); }

    void remove(std::uint32_t chunk);
    void put_back(std::uint32_t chunk, SumTrees trees);

    /// Brings all contributions of a chunk without sends to `root` through the gaps, so that the sum is there
    /// early, each sent as late as possible for that, and copies it from there as early as possible. A link
    /// counts as `thrift` times as long as it is held: above 0 trees prefer fast links. False, and nothing is
    /// inserted, if a copy would come at `limit` or later.
    bool insert(std::uint32_t chunk, std::uint32_t root, double thrift, Picoseconds limit);

    /// The same of a chunk that `root` has from a time on: copies alone.
    bool insert_copies(std::uint32_t chunk, std::uint32_t root, Picoseconds from, double thrift,
                       Picoseconds limit);

private:
    struct Candidate {
        double key;
        std::uint32_t node;
        bool operator<(const Candidate& other) const {
            return key != other.key ? key > other.key : node > other.node;
        }
    };

    Picoseconds sums_until(std::uint32_t chunk, std::uint32_t root, double thrift, Picoseconds until,
                           std::vector<Send>& sums);
    template <bool kSums>
    bool grow(std::uint32_t chunk, std::uint32_t root, Picoseconds at, double thrift, Picoseconds limit,
              std::vector<Send>& sends);
    template <bool kSums>
    bool take_way(std::uint32_t node, std::uint32_t chunk, std::vector<Send>& sends);
    template <bool kSums>
    void offer_beyond(std::uint32_t node, double thrift);
    template <bool kSums>
    void offer_again(std::uint32_t node, double thrift);
    template <bool kSums>
    void offer_over(std::uint32_t link, double thrift);
    void take(const std::vector<Send>& sends);
    void offer(std::uint32_t node, Picoseconds at, double key, std::uint32_t by, Picoseconds start);
    std::uint32_t next();
    void join(std::uint32_t node);
    bool is_in_tree(std::uint32_t node) const { return done_[node] == epoch_; }

    // Of a link, which is further from the root, and the start that fits best.
    template <bool kSums>
    std::uint32_t outer(std::uint32_t link) const {
        return kSums ? problem_.links[link].from : problem_.links[link].to;
    }
    template <bool kSums>
    std::uint32_t inner(std::uint32_t link) const {
        return outer<!kSums>(link);
    }
    template <bool kSums>
    Picoseconds best_start(std::uint32_t link) const {
        const Picoseconds at = at_[inner<kSums>(link)];
        return kSums ? slots_.latest(link, at) : slots_.earliest(link, at);
    }

    const Problem& problem_;
    LinkSlots slots_;
    std::vector<SumTrees> trees_;  ///< per chunk

    // Of the tree that is made: valid where the mark of a node equals the epoch.
    std::vector<Candidate> heap_;
    std::vector<double> key_, thrifts_;  ///< per node; of a way outside the tree what its links count more
    std::vector<Picoseconds> at_, start_;
    std::vector<std::uint32_t> by_, seen_, done_;
    std::vector<std::uint32_t> in_tree_, way_;
    std::uint32_t npus_in_tree_ = 0;
    std::uint32_t epoch_ = 0;
};

}  // namespace dse::synthesis
