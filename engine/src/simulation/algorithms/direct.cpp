// Direct: every member exchanges a packet with every other one, a window of them at a time.
//
//     0 <--> 1        reduce-scatter, all-gather, all-to-all: n - 1 packets of 1/n of the data
//     ^ \  / ^        all-reduce: 2 (n - 1), the second half after all packets of the first are there
//     v /  \ v
//     2 <--> 3        time = endpoint + rounds (longest wire + endpoint) + reduction
#include <algorithm>

#include "simulation/algorithms/algorithm.hpp"
#include "simulation/algorithms/lockstep.hpp"

namespace dse::collectives {

namespace {

class Direct final : public Algorithm {
public:
    std::string_view name() const override { return "direct"; }
    bool takes_window() const override { return true; }

    void plan(Phase& phase, const Settings&, std::uint32_t window) const override {
        const std::uint64_t others = phase.members - 1;
        const bool reduce_all = phase.type == CollectiveType::kAllReduce;
        phase.window = window == 0 ? others : std::min<std::uint64_t>(window, others);
        // The reference counts the packets of a group as a ring's: rounds of all its members.
        phase.rest = phase.membership == Membership::kList ? others * phase.window : phase.window;
        phase.sends = reduce_all ? 2 * others : others;
        phase.gated = reduce_all;
    }

    Partners partners(const Phase& phase, std::uint64_t, std::uint64_t packet,
                      bool clockwise) const override {
        const std::uint64_t ahead = packet % (phase.members - 1) + 1;
        const std::uint64_t behind = phase.members - ahead;
        return clockwise ? Partners{ahead, behind} : Partners{behind, ahead};
    }

    LockstepTime lockstep_time(const Phase& phase, const LockstepWires& wires) const override {
        if (phase.window != phase.members - 1) throw NotSymmetric("direct with a small window");
        Time shortest = UINT64_MAX;
        Time longest = 0;
        for (std::uint32_t offset = 1; offset < phase.members; ++offset) {
            wires.checkpoint();
            const Time wire = wires.delay_ns(phase, offset, phase.packet_bytes);
            shortest = std::min(shortest, wire);
            longest = std::max(longest, wire);
        }
        const Time endpoint = phase.endpoint_delay_ns;
        const Time exchange = longest + endpoint;
        if (phase.type == CollectiveType::kAllReduce) {
            if (shortest != longest) throw NotSymmetric("direct all-reduce over unequal wires");
            const bool last_reduces = phase.reduces(phase.sends);
            return {endpoint + 2 * exchange + (last_reduces ? 2 : 1) * phase.reduction_ns,
                    last_reduces ? phase.reduction_ns : endpoint};
        }
        const bool reduces = phase.type == CollectiveType::kReduceScatter;
        return {endpoint + exchange + (reduces ? phase.reduction_ns : 0),
                reduces ? phase.reduction_ns : endpoint};
    }
};

}  // namespace

const Algorithm& direct() {
    static const Direct algorithm;
    return algorithm;
}

}  // namespace dse::collectives
