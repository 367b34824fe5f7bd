// A ring: every member sends to the next and receives from the one before, n - 1 times.
//
//     0 --> 1 --> 2        reduce-scatter, all-gather: n - 1 packets of 1/n of the data
//     ^           |        all-reduce: one after the other, 2 (n - 1) packets
//     5 <-- 4 <-- 3        all-to-all: n (n - 1) / 2, each packet passed on to its goal
//
//     time = endpoint + M (wire + endpoint) + (n - 1) reductions, with M packets;
//     Patarasuk & Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations".
#include "simulation/algorithms/algorithm.hpp"
#include "simulation/algorithms/lockstep.hpp"

namespace dse::collectives {

namespace {

class Ring final : public Algorithm {
public:
    std::string_view name() const override { return "ring"; }

    void plan(Phase& phase, const Settings&, std::uint32_t) const override {
        const std::uint64_t others = phase.members - 1;
        const bool reduce_all = phase.type == CollectiveType::kAllReduce;
        const bool to_all = phase.type == CollectiveType::kAllToAll;
        phase.rest = others;
        phase.sends = reduce_all ? 2 * others : to_all ? phase.members * others / 2 : others;
    }

    Partners partners(const Phase& phase, std::uint64_t, std::uint64_t, bool clockwise) const override {
        const std::uint64_t others = phase.members - 1;
        return clockwise ? Partners{1, others} : Partners{others, 1};
    }

    LockstepTime lockstep_time(const Phase& phase, const LockstepWires& wires) const override {
        const Time endpoint = phase.endpoint_delay_ns;
        const Time step = wires.delay_ns(phase, 1, phase.packet_bytes) + endpoint;
        const bool reduces =
            phase.type == CollectiveType::kReduceScatter || phase.type == CollectiveType::kAllReduce;
        const Time reductions = reduces ? in_sequence(phase.members - 1, phase.reduction_ns) : 0;
        const bool last_reduces = phase.reduces(phase.sends);
        return {endpoint + in_sequence(phase.sends, step) + reductions,
                last_reduces ? phase.reduction_ns : endpoint};
    }
};

}  // namespace

const Algorithm& ring() {
    static const Ring algorithm;
    return algorithm;
}

}  // namespace dse::collectives
