// Greedy searches: forward in time, where chunks are claimed when sent, and by arrival.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/cancellation.hpp"
#include "collectives/greedy/task.hpp"
#include "collectives/problem/random.hpp"
#include "collectives/schedules/columns.hpp"

namespace dse::synthesis {

/// The rule by which a link takes one of the chunks that it could carry.
enum class Rule : std::uint8_t {
    kOldest,    ///< the one that its sender has had for longest
    kRandom,    ///< any
    kRarest,    ///< the one that fewest nodes have
    kWeighted,  ///< the first in `GreedyOptions::order`
    kNeeded,    ///< the one that most neighbours of its receiver lack; in half of the runs the rarest of them
};

struct GreedyOptions {
    Rule rule = Rule::kOldest;
    bool by_arrival = false;
    Picoseconds limit = kNever;                         ///< give up a run that takes that long
    const std::vector<std::uint32_t>* order = nullptr;  ///< chunks, first the most important ones
    bool tells_last_arrivals = false;
};

struct GreedyRun {
    bool is_complete = false;               ///< otherwise it was given up
    Columns sends;                          ///< by destination; links as in the problem
    std::vector<Picoseconds> last_arrival;  ///< per chunk, if asked for; kNever: missing somewhere
};

/// One run. Nothing is sent before it is there, also if chunks come late or links are not free at first.
///
/// Throws InputError if a chunk cannot reach a node that wants it.
GreedyRun run_greedy(const Task& task, const GreedyOptions& options, Random random,
                     const Checkpoint& checkpoint);

/// The same by its event loop, whatever the links; `run_greedy` takes a faster way to the same run where it
/// can.
GreedyRun run_events(const Task& task, const GreedyOptions& options, Random random,
                     const Checkpoint& checkpoint);

}  // namespace dse::synthesis
