// How a collective is cut into streams and phases.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "inputs/networks/network.hpp"
#include "simulation/algorithms/phase.hpp"
#include "simulation/algorithms/settings.hpp"

namespace dse::collectives {

struct Plan {
    std::uint64_t streams = 0;
    std::vector<Phase> phases;  ///< none: the node never completes
};

/// The communicator of a collective as far as a plan depends on it.
struct Participants {
    bool full = true;                         ///< the network's dimensions; otherwise a list
    std::uint32_t list_size = 0;              ///< of a list
    std::uint64_t dimension_mask = 0;         ///< full: dimensions that take part
    std::uint32_t communicator = UINT32_MAX;  ///< of a list that has schedules of its own

    auto operator<=>(const Participants&) const = default;
};

/// Makes plans, each once. Plans keep their place while the planner lives.
class Planner {
public:
    Planner(const Settings& settings, const network::Address& address)
        : settings_(settings), address_(address) {}

    /// Throws SimulationError for what the reference cannot run: halving-doubling all-to-all, chunks of 0
    /// bytes…
    const Plan& plan(CollectiveType type, std::uint64_t bytes, const Participants& participants);

    /// A list of `size` ranks, the communicator of that number.
    Participants list_of(CollectiveType type, std::uint32_t size, std::uint32_t communicator) const;

private:
    Plan make(CollectiveType type, std::uint64_t bytes, const Participants& participants) const;
    std::vector<Phase> full_phases(CollectiveType type, std::uint64_t chunk, std::uint64_t mask) const;
    Phase list_phase(CollectiveType type, std::uint32_t members, std::uint64_t bytes) const;
    Choice choice_in_group(CollectiveType type) const;
    Phase phase(CollectiveType type, const Choice& choice, std::uint32_t dimension,
                std::uint64_t bytes) const;
    void set_packets(Phase& phase, std::uint32_t window) const;
    void set_schedules(Phase& phase, const Scope& scope) const;

    const Settings& settings_;
    const network::Address& address_;
    std::map<std::tuple<CollectiveType, std::uint64_t, Participants>, Plan> plans_;
};

}  // namespace dse::collectives
