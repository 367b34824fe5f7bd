// How long a collective takes when all members start together and stay in step (simulator spec, 10.2).
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "network/congestion_unaware.hpp"
#include "simulator/collective_plan.hpp"
#include "simulator/event_queue.hpp"

namespace dse::simulator {

/// Duration, and how long before its end the timer was registered that ends it: needed to order ties.
struct LockstepTime {
    Time duration_ns = 0;
    Time tail_ns = 0;
};

/// Closed forms of phases, and a flow shop of streams and queues for several phases. Results are remembered.
class LockstepCollectives {
public:
    LockstepCollectives(const SystemConfig& config, const network::CongestionUnaware& network)
        : config_(config), network_(network) {}

    /// `ring_wire` is that of a sub-group ring. Throws NotSymmetric where members do not stay in step or the
    /// order of streams would depend on the order of ranks.
    LockstepTime time(const CollectivePlan& plan, network::Wire ring_wire);

private:
    LockstepTime compute(const CollectivePlan& plan, network::Wire ring_wire) const;
    LockstepTime flow_shop(const CollectivePlan& plan, network::Wire ring_wire) const;
    LockstepTime phase_time(const PhasePlan& phase, network::Wire ring_wire) const;
    LockstepTime ring_time(const PhasePlan& phase, network::Wire ring_wire) const;
    LockstepTime direct_time(const PhasePlan& phase) const;
    LockstepTime halving_doubling_time(const PhasePlan& phase) const;
    network::Wire wire_at(const PhasePlan& phase, std::uint32_t offset) const;
    Time delay(network::Wire wire, std::uint64_t bytes) const;

    const SystemConfig& config_;
    const network::CongestionUnaware& network_;
    std::map<std::tuple<const CollectivePlan*, std::uint32_t, std::uint32_t>, LockstepTime> known_;
};

}  // namespace dse::simulator
