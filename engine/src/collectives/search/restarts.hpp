// Many runs of greedy searches, the best of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "collectives/greedy/greedy.hpp"
#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

enum class Approach : std::uint8_t {
    kForward,
    kArrival,
    kRoutes,  ///< ways first, then their order; the rule has no meaning
};

struct Variant {
    Approach approach = Approach::kArrival;
    Rule rule = Rule::kOldest;
};

/// How long a search may go on; see Effort in Python.
struct Effort {
    std::uint64_t seed = 0;
    std::uint32_t trials = 1;
    Picoseconds enough = 0;
    /// Best time so far, if any, and runs done; now and then.
    std::function<void(std::optional<Picoseconds>, std::uint32_t)> report;
};

struct Found {
    Columns sends;
    std::uint32_t trials = 0;
};

/// Runs that differ by their number: run r is seeded by (seed, r), and takes variant r modulo their number.
class Runner {
public:
    /// Keeps a reference to the problem.
    Runner(const Problem& problem, std::vector<Variant> variants, std::uint64_t seed);

    /// The schedule of run r without redundant deliveries, if it takes less than `limit`.
    ///
    /// Throws InputError if a chunk cannot reach a node that wants it.
    std::optional<Columns> run(std::uint32_t r, Picoseconds limit, const Checkpoint& checkpoint);

private:
    std::optional<Columns> passed(std::uint32_t r, Random& random, Picoseconds limit,
                                  const Checkpoint& checkpoint) const;
    std::optional<Columns> run_greedy_on(const Task& task, Variant variant, Random& random, Picoseconds limit,
                                         const Checkpoint& checkpoint);
    void learn(const std::vector<Picoseconds>& last_arrival);

    const Problem& problem_;
    std::vector<Variant> variants_;
    std::uint64_t seed_;
    std::optional<Task> task_;  ///< unless runs differ in which nodes relay
    bool learns_ = false;
    std::vector<double> lateness_;  ///< per chunk, of the runs so far
};

/// The best of runs 0, 1, … of `run(number, limit)`, which gives a schedule that takes less than the limit,
/// or none; for how it ends see search_restarts.
Found search_runs(const Effort& effort, const Checkpoint& checkpoint,
                  const std::function<std::optional<Columns>(std::uint32_t, Picoseconds)>& run);

/// The best schedule of `trials` runs, of equal ones the first. Ends before when one takes `enough` or less;
/// or when the checkpoint ends it, with the best so far.
///
/// Throws InputError if a chunk cannot reach a node that wants it, and what the checkpoint throws before
/// there is a schedule.
Found search_restarts(const Problem& problem, const std::vector<Variant>& variants, const Effort& effort,
                      const Checkpoint& checkpoint);

}  // namespace dse::synthesis
