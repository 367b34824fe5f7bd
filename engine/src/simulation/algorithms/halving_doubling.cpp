// Halving-doubling: packets of half, a quarter, … of the data, to partners at distance 1, 2, 4, …
//
//     0 <-> 1   2 <-> 3     half of the data       reduce-scatter: this way, log2 n packets
//     0 <-> 2   1 <-> 3     a quarter of it        all-gather: the other way, doubling
//                                                  all-reduce: one after the other
//
//     time = endpoint + sum over the packets of (wire + endpoint + reduction);
//     Thakur, Rabenseifner & Gropp 2005, "Optimization of collective communication operations in MPICH".
#include <bit>
#include <cmath>
#include <string>

#include "base/error.hpp"
#include "simulation/algorithms/algorithm.hpp"
#include "simulation/algorithms/lockstep.hpp"

namespace dse::collectives {

namespace {

class HalvingDoubling final : public Algorithm {
public:
    std::string_view name() const override { return "halvingDoubling"; }

    void plan(Phase& phase, const Settings& settings, std::uint32_t) const override {
        if (phase.type == CollectiveType::kAllToAll) {
            throw SimulationError("halvingDoubling has no all-to-all; use ring or direct in all_to_all");
        }
        const double log_members = std::log2(phase.members);
        const bool gather = phase.type == CollectiveType::kAllGather;
        const bool reduce_all = phase.type == CollectiveType::kAllReduce;
        phase.rest = static_cast<std::uint64_t>(log_members - 1);
        phase.sends = static_cast<std::uint64_t>(reduce_all ? 2 * log_members : log_members);
        std::uint32_t offset = gather ? phase.members / 2 : 1;
        std::uint64_t bytes = gather ? phase.bytes : phase.bytes / 2;
        double factor = gather ? 0.5 : 2.0;
        const auto update = [&] {
            offset = static_cast<std::uint32_t>(offset * factor);
            const double next = static_cast<double>(bytes) / factor;
            if (next > static_cast<double>(kMostBytes)) {
                throw SimulationError("halvingDoubling gathers more than " + std::to_string(kMostBytes) +
                                      " bytes");
            }
            bytes = static_cast<std::uint64_t>(next);
        };
        for (std::uint64_t k = 0; k < phase.sends + phase.window; ++k) {
            phase.steps.push_back({bytes, settings.reduction_ns(bytes), offset});
            update();
            if (offset == phase.members && reduce_all) {
                factor = 0.5;
                update();
            }
        }
    }

    Partners partners(const Phase& phase, std::uint64_t own_index, std::uint64_t packet,
                      bool) const override {
        const std::uint64_t offset = phase.steps[packet].offset;
        const bool even = offset == 0 || own_index / offset % 2 == 0;
        const std::uint64_t ahead = even ? offset % phase.members : phase.members - offset % phase.members;
        return {ahead, ahead};
    }

    LockstepTime lockstep_time(const Phase& phase, const LockstepWires& wires) const override {
        if (!std::has_single_bit(phase.members)) {
            throw NotSymmetric("halving-doubling without a power of two");
        }
        const Time endpoint = phase.endpoint_delay_ns;
        LockstepTime result{endpoint, endpoint};
        for (std::uint64_t packet = 0; packet < phase.sends; ++packet) {
            const Phase::Step& step = phase.steps[packet];
            const bool reduces = phase.reduces(packet + 1);
            if (wires.delay_ns(phase, step.offset, step.bytes) !=
                wires.delay_ns(phase, phase.members - step.offset, step.bytes)) {
                throw NotSymmetric("halving-doubling over wires that differ by direction");
            }
            const Time reduction = reduces ? phase.reduction_of(packet + 1) : 0;
            result.duration_ns += wires.delay_ns(phase, step.offset, step.bytes) + endpoint + reduction;
            result.tail_ns = reduces ? reduction : endpoint;
        }
        return result;
    }
};

}  // namespace

const Algorithm& halving_doubling() {
    static const HalvingDoubling algorithm;
    return algorithm;
}

}  // namespace dse::collectives
