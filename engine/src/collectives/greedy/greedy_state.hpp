// State that the parts of a greedy run share, and its result at the end.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/greedy/arrival_logs.hpp"
#include "collectives/greedy/flights.hpp"
#include "collectives/greedy/greedy.hpp"
#include "collectives/greedy/task.hpp"
#include "collectives/problem/bits.hpp"
#include "collectives/problem/random.hpp"

namespace dse::synthesis {

struct GreedyState {
    GreedyState(const Task& of, const GreedyOptions& given, Random seeded)
        : task(of), options(given), random(seeded), logs(of), taken(of.settled), lacks(of.lacks) {}

    const Task& task;
    const GreedyOptions& options;
    Random random;
    ArrivalLogs logs;
    BitRows taken;  ///< per node: chunks that it has, that are claimed, or that it lacks not
    std::vector<std::uint32_t> lacks;  ///< per node: how many are not taken
};

/// Throws InputError, for the first chunk that is missing.
[[noreturn]] void throw_missing(const Task& task, const BitRows& taken,
                                const std::vector<std::uint32_t>& lacks);

/// Chunks that are missing somewhere arrive never.
void mark_missing(const BitRows& taken, const std::vector<std::uint32_t>& lacks,
                  std::vector<Picoseconds>& last_arrival);

/// Per chunk; kNever: missing somewhere.
std::vector<Picoseconds> last_arrivals(const GreedyState& state, const Flights& flights);

}  // namespace dse::synthesis
