// The result of a greedy run at its end.
#include "collectives/greedy/greedy_state.hpp"

#include <algorithm>

namespace dse::synthesis {

void throw_missing(const Task& task, const BitRows& taken, const std::vector<std::uint32_t>& lacks) {
    for (std::uint32_t v = 0; v < task.problem->npus; ++v)
        for (std::uint32_t chunk = 0; lacks[v] > 0 && chunk < task.problem->chunks; ++chunk)
            if (!has(taken[v], chunk) && task.is_wanted(v, chunk)) throw_unreachable(*task.problem, v, chunk);
    throw_unreachable(*task.problem, 0, 0);
}

void mark_missing(const BitRows& taken, const std::vector<std::uint32_t>& lacks,
                  std::vector<Picoseconds>& last_arrival) {
    for (std::size_t v = 0; v < lacks.size(); ++v) {
        if (lacks[v] == 0) continue;
        for (std::uint32_t chunk = 0; chunk < last_arrival.size(); ++chunk)
            if (!has(taken[v], chunk)) last_arrival[chunk] = kNever;
    }
}

std::vector<Picoseconds> last_arrivals(const GreedyState& state, const Flights& flights) {
    std::vector<Picoseconds> last(state.task.problem->chunks, 0);
    flights.each([&](const Flight& flight) { last[flight.chunk] = std::max(last[flight.chunk], flight.at); });
    for (std::uint32_t v = 0; v < state.task.problem->nodes; ++v) {
        const std::uint32_t* chunks = state.logs.chunks(v);
        const Picoseconds* at = state.logs.times(v);
        for (std::uint32_t i = 0; i < state.logs.size(v); ++i)
            last[chunks[i]] = std::max(last[chunks[i]], at[i]);
    }
    mark_missing(state.taken, state.lacks, last);
    return last;
}

}  // namespace dse::synthesis
