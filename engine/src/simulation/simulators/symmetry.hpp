// Classes of ranks that provably do the same thing at the same time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/not_symmetric.hpp"
#include "simulation/networks/congestion_unaware.hpp"
#include "simulation/simulators/config.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::simulator {

/// A partition of the ranks into classes whose members see the same history.
struct RankClasses {
    std::vector<std::uint32_t> class_of_rank;
    std::vector<std::uint32_t> representative;   ///< lowest rank of each class, ascending
    std::vector<network::ListWires> list_wires;  ///< of groups that are lists, each once
    std::vector<std::uint32_t> wires_of_slot;    ///< per class and slot: index into them
    std::uint32_t slots = 0;

    const network::ListWires& wires(std::uint32_t rank_class, std::uint32_t slot) const {
        return list_wires[wires_of_slot[rank_class * slots + slot]];
    }
};

/// Computes the partition, or throws NotSymmetric with the first precondition that does not hold:
///
/// * ranks of a class have the same trace; the members of every communicator in use are of one class;
/// * every group has equal wires between neighbours, and where not all groups run rings between all that are
///   equally far ahead, the same in all groups of a class and slot;
/// * a communicator of all ranks needs a single class (its dimensions are rotated onto themselves);
/// * point-to-point peers of a class are of one class, at the same distance;
/// * two communicators share at most one rank, so that messages of different groups cannot be confused;
/// * a derated NPU is a class of its own; links are equal and messages do not queue on them;
/// * one queue per dimension, no rendezvous, no shared remote memory: these couple ranks or phases otherwise.
RankClasses find_rank_classes(const workload::Workload& workload, const SystemConfig& config,
                              const network::CongestionUnaware& network, const Checkpoint& checkpoint = {});

/// The partition by traces alone, without any proof: for tests that must see a broken precondition.
RankClasses assume_rank_classes(const workload::Workload& workload,
                                const network::CongestionUnaware& network);

}  // namespace dse::simulator
