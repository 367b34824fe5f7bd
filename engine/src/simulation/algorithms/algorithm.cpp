// The parts that most algorithms share.
#include "simulation/algorithms/algorithm.hpp"

#include <string>

#include "base/error.hpp"

namespace dse::collectives {

std::uint64_t Algorithm::bytes_after(const Phase& phase) const {
    if (phase.type == CollectiveType::kReduceScatter) return phase.bytes / phase.members;
    if (phase.type != CollectiveType::kAllGather) return phase.bytes;
    if (phase.bytes > kMostBytes / phase.members) {
        throw SimulationError("an all-gather among " + std::to_string(phase.members) +
                              " NPUs gathers more than " + std::to_string(kMostBytes) + " bytes");
    }
    return phase.bytes * phase.members;
}

Partners Algorithm::partners(const Phase&, std::uint64_t, std::uint64_t, bool) const { return {}; }

void Algorithm::begin(Member&) const {}

void Algorithm::step(Member&, std::uint64_t) const {}

}  // namespace dse::collectives
