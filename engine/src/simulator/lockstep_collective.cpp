// The recurrences of the packet pump with equal starts and equal wires, summed.
#include "simulator/lockstep_collective.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <vector>

#include "simulator/symmetry.hpp"

namespace dse::simulator {

using network::Wire;

LockstepTime LockstepCollectives::time(const CollectivePlan& plan, Wire ring_wire) {
    const auto key = std::make_tuple(&plan, ring_wire.dimension, ring_wire.hops);
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    return known_.emplace(key, compute(plan, ring_wire)).first->second;
}

LockstepTime LockstepCollectives::compute(const CollectivePlan& plan, Wire ring_wire) const {
    if (plan.phases.size() > 1) return flow_shop(plan, ring_wire);
    // Equal streams of one phase run in waves.
    const LockstepTime stream = phase_time(plan.phases.front(), ring_wire);
    const std::uint64_t width = config_.active_chunks_per_dimension;
    return {(plan.streams + width - 1) / width * stream.duration_ns, stream.tail_ns};
}

/// Streams pass their phases; a queue per dimension runs a few at a time, first come, first served.
///
/// Streams in the same phase are interchangeable. Streams of different phases that enter one queue in the
/// same tick come from different neighbours, so their order may differ between ranks: refused if it could
/// matter.
LockstepTime LockstepCollectives::flow_shop(const CollectivePlan& plan, Wire ring_wire) const {
    struct Queue {
        std::deque<std::size_t> waiting;  ///< phases of the waiting streams
        std::uint64_t running = 0;
    };
    std::vector<LockstepTime> times;
    for (const PhasePlan& phase : plan.phases) times.push_back(phase_time(phase, ring_wire));
    std::map<std::uint32_t, Queue> queues;
    std::map<Time, std::vector<std::size_t>> ends;  ///< phases that end at a tick
    const auto fill = [&](Queue& queue, Time now) {
        while (queue.running < config_.active_chunks_per_dimension && !queue.waiting.empty()) {
            const std::size_t phase = queue.waiting.front();
            queue.waiting.pop_front();
            ++queue.running;
            ends[now + times[phase].duration_ns].push_back(phase);
        }
    };
    Queue& first = queues[plan.phases.front().dimension];
    first.waiting.assign(plan.streams, 0);
    fill(first, 0);

    Time now = 0;
    while (!ends.empty()) {
        now = ends.begin()->first;
        const std::vector<std::size_t> finished = std::move(ends.begin()->second);
        ends.erase(ends.begin());
        std::map<std::uint32_t, std::vector<std::size_t>> entered;
        for (const std::size_t phase : finished) {
            --queues[plan.phases[phase].dimension].running;
            if (phase + 1 < plan.phases.size())
                entered[plan.phases[phase + 1].dimension].push_back(phase + 1);
        }
        for (const auto& [dimension, phases] : entered) {
            Queue& queue = queues[dimension];
            queue.waiting.insert(queue.waiting.end(), phases.begin(), phases.end());
            const bool mixed =
                std::adjacent_find(phases.begin(), phases.end(), std::not_equal_to<>()) != phases.end();
            const bool all_start =
                queue.running + queue.waiting.size() <= config_.active_chunks_per_dimension;
            if (mixed && !all_start)
                throw NotSymmetric("streams enter a queue from two neighbours in one tick");
        }
        for (auto& [dimension, queue] : queues) fill(queue, now);
    }
    return {now, times.back().tail_ns};
}

Wire LockstepCollectives::wire_at(const PhasePlan& phase, std::uint32_t offset) const {
    if (phase.membership == Membership::kAllRanks && network_.address().dimensions() > 1) {
        throw NotSymmetric("a logical ring over all ranks of several dimensions");
    }
    const network::Shape& shape = network_.shape(phase.dimension);
    if (!shape.is_rotation_symmetric())
        throw NotSymmetric("a topology that rotations do not map onto itself");
    return {phase.dimension, shape.hops(0, offset)};
}

Time LockstepCollectives::delay(Wire wire, std::uint64_t bytes) const {
    const Time result = bytes == 0 ? 0 : network_.delay_ns(wire, bytes);
    if (result == 0) throw NotSymmetric("a message without delay");
    return result;
}

LockstepTime LockstepCollectives::phase_time(const PhasePlan& phase, Wire ring_wire) const {
    switch (phase.algorithm) {
        case AlgorithmKind::kRing:
            return ring_time(phase, ring_wire);
        case AlgorithmKind::kDirect:
            return direct_time(phase);
        case AlgorithmKind::kHalvingDoubling:
            return halving_doubling_time(phase);
        case AlgorithmKind::kDoubleBinaryTree:
            break;
    }
    throw NotSymmetric("the members of a tree do different things");
}

LockstepTime LockstepCollectives::ring_time(const PhasePlan& phase, Wire ring_wire) const {
    const Wire wire = phase.membership == Membership::kList ? ring_wire : wire_at(phase, 1);
    const Time endpoint = phase.endpoint_delay_ns;
    const Time step = delay(wire, phase.packet_bytes) + endpoint;
    const bool reduces =
        phase.type == CollectiveType::kReduceScatter || phase.type == CollectiveType::kAllReduce;
    const Time reductions = reduces ? (phase.members - 1) * phase.reduction_ns : 0;
    const bool last_reduces = phase.reduces(phase.sends);
    return {endpoint + phase.sends * step + reductions, last_reduces ? phase.reduction_ns : endpoint};
}

LockstepTime LockstepCollectives::direct_time(const PhasePlan& phase) const {
    if (phase.window != phase.members - 1) throw NotSymmetric("direct with a small window");
    Time shortest = UINT64_MAX;
    Time longest = 0;
    for (std::uint32_t offset = 1; offset < phase.members; ++offset) {
        const Time wire = delay(wire_at(phase, offset), phase.packet_bytes);
        shortest = std::min(shortest, wire);
        longest = std::max(longest, wire);
    }
    const Time endpoint = phase.endpoint_delay_ns;
    const Time exchange = longest + endpoint;
    if (phase.type == CollectiveType::kAllReduce) {
        if (shortest != longest) throw NotSymmetric("direct all-reduce over unequal wires");
        return {endpoint + 2 * exchange + phase.reduction_ns, endpoint};
    }
    const bool reduces = phase.type == CollectiveType::kReduceScatter;
    return {endpoint + exchange + (reduces ? phase.reduction_ns : 0),
            reduces ? phase.reduction_ns : endpoint};
}

LockstepTime LockstepCollectives::halving_doubling_time(const PhasePlan& phase) const {
    if (!std::has_single_bit(phase.members)) throw NotSymmetric("halving-doubling without a power of two");
    const Time endpoint = phase.endpoint_delay_ns;
    LockstepTime result{endpoint, endpoint};
    for (std::uint64_t packet = 0; packet < phase.sends; ++packet) {
        const PhasePlan::Step& step = phase.steps[packet];
        const bool reduces = phase.reduces(packet + 1);
        const Time reduction = reduces ? phase.reduction_of(packet + 1) : 0;
        result.duration_ns += delay(wire_at(phase, step.offset), step.bytes) + endpoint + reduction;
        result.tail_ns = reduces ? reduction : endpoint;
    }
    return result;
}

}  // namespace dse::simulator
