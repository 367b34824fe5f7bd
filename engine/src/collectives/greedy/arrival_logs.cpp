// Logs of arrivals, and the schedule that they are at the end.
#include "collectives/greedy/arrival_logs.hpp"

#include <algorithm>
#include <utility>

namespace dse::synthesis {

ArrivalLogs::ArrivalLogs(const Task& task) {
    const std::uint32_t nodes = task.problem->nodes;
    begin_.assign(nodes + 1, 0);
    for (std::uint32_t v = 0; v < nodes; ++v)
        begin_[v + 1] = begin_[v] + task.lacks[v] + (task.held_begin[v + 1] - task.held_begin[v]);
    end_.assign(begin_.begin(), begin_.end() - 1);
    columns_ = Columns(begin_.back());
}

Columns ArrivalLogs::take_sends(const Task& task) {
    std::size_t kept = 0;
    for (std::uint32_t v = 0; v < task.problem->nodes; ++v)
        for (std::size_t i = begin_[v]; i < end_[v]; ++i) {
            const std::uint32_t link = columns_.link[i], chunk = columns_.chunk[i];
            const Picoseconds at = columns_.start[i];
            if (link == kNone) continue;
            if (!task.may_be_redundant || task.is_wanted(v, chunk))
                columns_.time = std::max(columns_.time, at);
            columns_.link[kept] = task.number_of[link];
            columns_.chunk[kept] = chunk;
            columns_.start[kept++] = at - task.links[link].arrival;
        }
    columns_.size = kept;
    return std::move(columns_);
}

}  // namespace dse::synthesis
