// Per node of a greedy search what has come to it, in this order; at first what it held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/greedy/task.hpp"
#include "collectives/problem/random.hpp"
#include "collectives/schedules/columns.hpp"

namespace dse::synthesis {

/// Instead of a link or a chunk: none.
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

class ArrivalLogs {
public:
    /// Empty, with room for what nodes hold and lack.
    explicit ArrivalLogs(const Task& task);

    /// `link` is kNone if the chunk was held, or on its way by the problem.
    void note(std::uint32_t node, std::uint32_t link, std::uint32_t chunk, Picoseconds at) {
        const std::size_t i = end_[node]++;
        columns_.link[i] = link;
        columns_.chunk[i] = chunk;
        columns_.start[i] = at;
    }

    /// Soon `note` is called for the node.
    void prepare_note(std::uint32_t node) const {
        const std::size_t i = end_[node];
        __builtin_prefetch(&columns_.link[i], 1);
        __builtin_prefetch(&columns_.chunk[i], 1);
        __builtin_prefetch(&columns_.start[i], 1);
    }

    std::uint32_t size(std::uint32_t node) const {
        return static_cast<std::uint32_t>(end_[node] - begin_[node]);
    }
    const std::uint32_t* chunks(std::uint32_t node) const { return &columns_.chunk[begin_[node]]; }
    const Picoseconds* times(std::uint32_t node) const { return &columns_.start[begin_[node]]; }

    void shuffle(std::uint32_t node, Random& random) {
        random.shuffle(&columns_.chunk[begin_[node]], end_[node] - begin_[node]);
    }

    /// All that has come over links, by destination, from arrivals to starts; the logs are then used up.
    Columns take_sends(const Task& task);

private:
    Columns columns_;  ///< `start` is the arrival
    std::vector<std::size_t> begin_, end_;
};

}  // namespace dse::synthesis
