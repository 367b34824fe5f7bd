// Nodes in repair while a job runs: how long it waits for spares, or runs with fewer nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dse::prediction::runs {

/// Failures of one kind: `rate` per second of the whole job, `recovery_s` from the failure to computing.
/// `nodes` are lost at once, until each is repaired for itself; spare ones take their places.
/// `near_recovery_s` is the time where a copy near the nodes is read; none where the failure loses that copy.
struct FailureClass {
    double rate = 0.0, recovery_s = 0.0;
    std::int64_t nodes = 0;
    std::optional<double> near_recovery_s;
};

/// The sum of all rates.
double rate_of(std::span<const FailureClass> classes);

/// `spares` nodes stand by; a failed node is back after `repair_s` on average, exponentially. `speeds` are
/// those of a job that lacks 1, 2, ... nodes beyond its spares; where more are lacking it waits. Every change
/// of speed stops it for `reconfigure_s`.
struct Spares {
    std::int64_t spares = 0;
    double repair_s = 0.0;
    std::vector<double> speeds;
    double reconfigure_s = 0.0;
};

/// Per second that a job is up, the seconds in which it waits or changes its size; `speed` is the mean while
/// it computes.
struct Shop {
    double waiting = 0.0, reconfiguring = 0.0, speed = 1.0;

    bool operator==(const Shop&) const = default;
};

/// How nodes in repair slow a job down. Counted in the time that the job is up, their number is a Markov
/// chain: failures add nodes, one repair takes one out. A failure that would exceed `spares` and `speeds`
/// waits for as many repairs as exceed them. With single nodes it is the loss system of Erlang 1917. Failures
/// come at the rate of a job of full size.
Shop repair_shop(std::span<const FailureClass> classes, const Spares& spares);

}  // namespace dse::prediction::runs
