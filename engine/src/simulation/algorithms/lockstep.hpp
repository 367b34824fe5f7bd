// How long a collective takes when all members start together and stay in step.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/cancellation.hpp"
#include "base/not_symmetric.hpp"
#include "simulation/algorithms/plan.hpp"
#include "simulation/networks/congestion_unaware.hpp"

namespace dse::collectives {

/// The wires of a network as members of a phase that are equal see them.
class LockstepWires {
public:
    /// `list_wires` are those of a group that is a list.
    LockstepWires(const network::CongestionUnaware& network, const network::ListWires& list_wires,
                  const Checkpoint& checkpoint)
        : network_(network), list_wires_(list_wires), checkpoint_(checkpoint) {}

    /// ns of a packet to the member `offset` ahead. Throws NotSymmetric if it differs between members, or the
    /// packet has no delay.
    Time delay_ns(const Phase& phase, std::uint32_t offset, std::uint64_t bytes) const;

    /// Once a round of a long loop.
    void checkpoint() const { checkpoint_(); }

private:
    network::Wire wire(const Phase& phase, std::uint32_t offset) const;

    const network::CongestionUnaware& network_;
    const network::ListWires& list_wires_;
    const Checkpoint& checkpoint_;
};

/// Times of phases by their algorithms, and a flow shop of streams and queues for several phases. Results are
/// remembered.
class Lockstep {
public:
    Lockstep(const Settings& settings, const network::CongestionUnaware& network,
             const Checkpoint& checkpoint)
        : settings_(settings), network_(network), checkpoint_(checkpoint) {}

    /// `list_wires` are those of a group that is a list, and must stay where they are. Throws NotSymmetric
    /// where members do not stay in step, the
    /// order of streams would depend on the order of ranks, or a time is beyond the clock: the general engine
    /// then says which event is.
    LockstepTime time(const Plan& plan, const network::ListWires& list_wires);

    /// The phases of all streams in the order in which members in step start them; the k-th entry of a phase
    /// is that of stream k. A phase that has no closed form counts as its messages one after the other.
    std::vector<std::uint32_t> start_order(const Plan& plan) const;

private:
    LockstepTime compute(const Plan& plan, const network::ListWires& list_wires) const;
    LockstepTime flow_shop(const Plan& plan, const network::ListWires& list_wires) const;
    template <typename Started>
    Time run_streams(const Plan& plan, const std::vector<Time>& durations, bool strict,
                     Started started) const;
    LockstepTime phase_time(const Phase& phase, const network::ListWires& list_wires) const;

    const Settings& settings_;
    const network::CongestionUnaware& network_;
    const Checkpoint& checkpoint_;
    std::map<std::pair<const Plan*, const network::ListWires*>, LockstepTime> known_;
};

}  // namespace dse::collectives
