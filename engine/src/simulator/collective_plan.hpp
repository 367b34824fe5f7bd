// How a collective is cut into streams and phases (simulator spec, sections 5.2 to 5.6).
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "network/network.hpp"
#include "simulator/config.hpp"

namespace dse::simulator {

/// Which of a dimension's queue cursors a phase uses (spec, 5.3).
enum class QueueUse : std::uint8_t { kNormal, kFirst, kLast };

/// Who takes part in a phase.
enum class Membership : std::uint8_t { kDimension, kList, kAllRanks };

/// One phase of a stream: the constants of its packet pumps, the same on every rank.
struct PhasePlan {
    AlgorithmKind algorithm = AlgorithmKind::kRing;
    CollectiveType type = CollectiveType::kAllReduce;
    Membership membership = Membership::kDimension;
    QueueUse queue_use = QueueUse::kNormal;
    std::uint32_t dimension = 0;
    std::uint32_t members = 0;
    std::uint64_t endpoint_delay_ns = 0;
    std::uint64_t bytes = 0;         ///< at the start of the phase
    std::uint64_t packet_bytes = 0;  ///< ring, direct, tree
    std::uint64_t reduction_ns = 0;  ///< of such a packet
    std::uint64_t window = 1;        ///< packets in flight, P
    std::uint64_t rest = 0;          ///< packets of a cycle after the window, Z
    std::uint64_t sends = 0;         ///< M
    bool gated = false;              ///< direct all-reduce: the second half waits for the first

    /// Halving-doubling: size, reduction time and partner offset of each packet.
    struct Step {
        std::uint64_t bytes;
        std::uint64_t reduction_ns;
        std::uint32_t offset;
    };
    std::vector<Step> steps;

    std::uint64_t bytes_of(std::uint64_t packet) const {
        return steps.empty() ? packet_bytes : steps[packet].bytes;
    }
    std::uint64_t reduction_of(std::uint64_t packet) const {
        return steps.empty() ? reduction_ns : steps[packet].reduction_ns;
    }
    bool reduces(std::uint64_t packet) const {
        const std::uint64_t cycle = window + rest;
        if (packet % cycle < window) return false;
        return type == CollectiveType::kReduceScatter ||
               (type == CollectiveType::kAllReduce && packet / cycle % 2 == 0);
    }
};

struct CollectivePlan {
    std::uint64_t streams = 0;
    std::vector<PhasePlan> phases;  ///< none: the node never completes
};

/// The communicator of a collective as far as a plan depends on it.
struct Participants {
    bool full = true;                  ///< the network's dimensions; otherwise one ring over a list
    std::uint32_t list_size = 0;       ///< of a list
    std::uint64_t dimension_mask = 0;  ///< full: dimensions that take part

    auto operator<=>(const Participants&) const = default;
};

/// Makes plans, each once. Plans keep their place while the planner lives.
class CollectivePlanner {
public:
    CollectivePlanner(const SystemConfig& config, const network::Address& address)
        : config_(config), address_(address) {}

    /// Throws SimulationError for what the reference cannot run: halving-doubling all-to-all, chunks of 0
    /// bytes…
    const CollectivePlan& plan(CollectiveType type, std::uint64_t bytes, const Participants& participants);

private:
    CollectivePlan make(CollectiveType type, std::uint64_t bytes, const Participants& participants) const;
    std::vector<PhasePlan> full_phases(CollectiveType type, std::uint64_t chunk, std::uint64_t mask) const;
    PhasePlan phase(CollectiveType type, const Algorithm& algorithm, std::uint32_t dimension,
                    std::uint64_t bytes) const;
    void set_pump(PhasePlan& phase, std::uint32_t direct_window) const;
    void set_halving_doubling(PhasePlan& phase) const;

    const SystemConfig& config_;
    const network::Address& address_;
    std::map<std::tuple<CollectiveType, std::uint64_t, Participants>, CollectivePlan> plans_;
};

}  // namespace dse::simulator
