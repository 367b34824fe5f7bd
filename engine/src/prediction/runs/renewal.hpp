// Expected time of work under failures: a renewal process whose expectations are closed forms.
//
// Failures come at a constant rate while the job is up, in computing, checkpoints and recovery. After one,
// the job recovers, which failures may interrupt, and goes on from the last durable checkpoint. A checkpoint
// blocks the job for a while, and is durable some time after that, while the job computes on. It may be near
// the nodes, where only some failures leave it, and some of these be copied to storage, where all do.
#pragma once

#include "prediction/runs/repairs.hpp"

namespace dse::prediction::runs {

/// A checkpoint blocks for `blocking_s`, and is durable `writing_s` after that. Without `flush_s` it is in
/// storage. Else it is near the nodes, and every `every`-th one is copied to storage behind the steps for
/// `flush_s`; no such copy begins before the last has ended.
struct Checkpoints {
    double blocking_s = 0.0, writing_s = 0.0;
    std::optional<double> flush_s;
    std::int64_t every = 1;
};

/// Expected seconds per second of useful work at full speed; they sum to `total()`. `shrunk` is how much
/// longer a job with fewer nodes takes. `failures` are per such second.
struct Expected {
    double useful = 1.0, checkpoints = 0.0, lost = 0.0, recovery = 0.0, waiting = 0.0, failures = 0.0;
    double shrunk = 0.0;

    /// Wall time over useful time; its inverse is the effective training time ratio.
    double total() const { return useful + checkpoints + lost + recovery + waiting + shrunk; }
};

/// The expected time of a second of useful work with a checkpoint after every `interval_s` of it; infinite
/// where hardly any stretch between failures is long enough. With failures of rate L, a stretch of
/// s = interval + blocking from one durable checkpoint to the next succeeds at once with probability
/// exp(-L s); after a failure the job repeats from the last durable one, and is durable again after
/// s + writing. Both are exact; without writing this is Daly's formula (2006). A copy in storage counts from
/// the first near checkpoint that is durable when it is written.
Expected expected(double interval_s, const Checkpoints& checkpoints, std::span<const FailureClass> classes,
                  const Shop& shop = {});

/// The interval of least expected time between two bounds, to a ten-thousandth. Repairs multiply the time, so
/// the interval does not depend on them. The time has one minimum in the interval. With copies in storage it
/// has one for each number of stretches in which such a copy is written; those next to the minimum over
/// fractions of stretches are compared.
double best_interval_s(const Checkpoints& checkpoints, std::span<const FailureClass> classes, double least_s,
                       double most_s = 30 * 86400.0);

}  // namespace dse::prediction::runs
