// Collectives that traces of the user's own define: on each rank, the nodes of the file of its place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/pool.hpp"
#include "simulation/simulators/rank_timers.hpp"
#include "simulation/simulators/transport.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::simulator {

/// Nodes start when those that they wait for have ended, however many at once. A collective ends on a rank
/// when no node runs: nodes in a circle never do.
class CustomRuns {
public:
    CustomRuns(RankTimers& timers, Transport& transport) : timers_(timers), transport_(transport) {}

    /// Starts the free nodes, of which there is one; `members` are the ranks by place, none for all ranks.
    void start(std::uint32_t rank, std::uint32_t node, const workload::Trace& trace,
               std::span<const std::uint32_t> members);

    /// A node has ended. Returns its run if that has ended, else kNil.
    std::uint32_t ended(std::uint32_t object);

    void remove(std::uint32_t run) { runs_.remove(run); }

    std::uint32_t rank_of(std::uint32_t run) const { return runs_[run].rank; }
    /// The node of the rank's own trace that the run works for.
    std::uint32_t node_of(std::uint32_t run) const { return runs_[run].node; }
    std::uint32_t run_of(std::uint32_t object) const { return started_[object].run; }

private:
    struct Run {
        std::uint32_t rank = 0;
        std::uint32_t node = 0;
        const workload::Trace* trace = nullptr;
        std::span<const std::uint32_t> members;
        std::vector<std::uint32_t> waits;  ///< nodes still waited for, per node
        std::uint32_t running = 0;
    };
    struct Started {
        std::uint32_t run;
        std::uint32_t node;
    };

    void issue(std::uint32_t run, std::uint32_t node);

    RankTimers& timers_;
    Transport& transport_;
    Pool<Run> runs_;
    Pool<Started> started_;
};

}  // namespace dse::simulator
