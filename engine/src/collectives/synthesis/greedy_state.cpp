// What is told of a greedy run at its end.
#include "collectives/synthesis/greedy_state.hpp"

#include <algorithm>

namespace dse::synthesis {

void throw_missing(const GreedyState& state) {
    const Task& task = state.task;
    for (std::uint32_t v = 0; v < task.problem->npus; ++v)
        for (std::uint32_t chunk = 0; state.lacks[v] > 0 && chunk < task.problem->chunks; ++chunk)
            if (!has(state.taken[v], chunk) && task.is_wanted(v, chunk))
                throw_unreachable(*task.problem, v, chunk);
    throw_unreachable(*task.problem, 0, 0);
}

std::vector<Picoseconds> last_arrivals(const GreedyState& state, const Flights& flights) {
    std::vector<Picoseconds> last(state.task.problem->chunks, 0);
    flights.each([&](const Flight& flight) { last[flight.chunk] = std::max(last[flight.chunk], flight.at); });
    for (std::uint32_t v = 0; v < state.task.problem->nodes; ++v) {
        const std::uint32_t* chunks = state.logs.chunks(v);
        const Picoseconds* at = state.logs.times(v);
        for (std::uint32_t i = 0; i < state.logs.size(v); ++i)
            last[chunks[i]] = std::max(last[chunks[i]], at[i]);
        if (state.lacks[v] == 0) continue;
        for (std::uint32_t chunk = 0; chunk < last.size(); ++chunk)
            if (!has(state.taken[v], chunk)) last[chunk] = kNever;
    }
    return last;
}

}  // namespace dse::synthesis
