// Logs of what nodes get in rounds, in a few bytes a send, until someone asks for the schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "collectives/greedy/task.hpp"
#include "collectives/schedules/columns.hpp"

namespace dse::synthesis {

/// Whether 16 bits are enough for chunks and 8 for the links into a node.
inline bool is_narrow(const Task& task) {
    for (std::size_t v = 0; v + 1 < task.into.size(); ++v)
        if (task.into[v + 1] - task.into[v] > 0xff) return false;
    return task.problem->chunks <= std::uint32_t{1} << 16;
}

/// `Chunk` holds the number of a chunk, `Number` that of a link among those into its node, and how many of
/// them there are. Nodes are given by rank, which is any order of them.
template <typename Chunk, typename Number>
class RoundLogs : public PackedSends {
public:
    /// With room for what nodes lack, and behind what they hold if `keeps_held`; `more` chunks may be read
    /// behind the last one.
    RoundLogs(const Task& task, std::vector<std::uint32_t> order, bool keeps_held, std::size_t more)
        : order_(std::move(order)), into_(task.into), number_of_(task.number_of), lacks_(task.lacks) {
        std::size_t places = 0, sends = 0;
        for (std::uint32_t v = 0; v < lacks_.size(); ++v) {
            if (keeps_held) places += task.held_begin[v + 1] - task.held_begin[v];
            first_chunk_.push_back(places);
            first_send_.push_back(sends);
            places += lacks_[v];
            sends += lacks_[v];
        }
        chunks = Numbers<Chunk>(places + more);
        for (std::size_t i = 0; i < more; ++i) chunks[places + i] = 0;
        links = Numbers<Number>(sends);
    }

    /// How many chunks each node gets in the next round, by rank; zeros.
    Number* begin_round() { return counts_.emplace_back(lacks_.size(), Number{0}).data(); }

    /// Where what a node gets begins.
    std::size_t first_chunk(std::uint32_t node) const { return first_chunk_[node]; }
    std::size_t first_send(std::uint32_t node) const { return first_send_[node]; }

    /// The run is over: a round takes so long, and sends of the last one are given by link if asked for.
    void finish(Picoseconds round_ps, bool orders_last_round) {
        round_ps_ = round_ps;
        orders_last_round_ = orders_last_round;
    }

    void unpack_into(Columns& columns) const override {
        const Picoseconds last = columns.time - round_ps_;
        for (std::size_t rank = 0; rank < order_.size(); ++rank) {
            const std::uint32_t v = order_[rank];
            std::size_t send = first_send_[v];
            const Chunk* chunk = &chunks[first_chunk_[v]];
            Picoseconds start = 0;
            for (const std::vector<Number>& count : counts_) {
                const std::size_t first = send;
                for (const std::size_t end = first + count[rank]; send < end; ++send) {
                    columns.chunk[send] = *chunk++;
                    columns.link[send] = number_of_[into_[v] + links[send]];
                    columns.start[send] = start;
                }
                if (orders_last_round_ && start == last) order_by_link(columns, first, send);
                start += round_ps_;
            }
        }
    }

    Numbers<Chunk> chunks;
    Numbers<Number> links;  ///< of those into the node

private:
    static void order_by_link(Columns& columns, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            for (std::size_t j = i; j > begin && columns.link[j] < columns.link[j - 1]; --j) {
                std::swap(columns.link[j], columns.link[j - 1]);
                std::swap(columns.chunk[j], columns.chunk[j - 1]);
            }
    }

    std::vector<std::uint32_t> order_, into_, number_of_, lacks_;
    std::vector<std::size_t> first_chunk_, first_send_;  ///< per node
    std::vector<std::vector<Number>> counts_;            ///< per round, by rank
    Picoseconds round_ps_ = 0;
    bool orders_last_round_ = false;
};

}  // namespace dse::synthesis
