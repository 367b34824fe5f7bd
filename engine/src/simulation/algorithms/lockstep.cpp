// Streams in step: waves of a single phase, or a flow shop of several.
#include "simulation/algorithms/lockstep.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "simulation/algorithms/algorithm.hpp"

namespace dse::collectives {

using network::ListWires;
using network::Wire;

namespace {

constexpr const char* kBeyondClock = "a time beyond the clock";

}  // namespace

LockstepTime Lockstep::time(const Plan& plan, const ListWires& list_wires) {
    const auto key = std::pair(&plan, &list_wires);
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    const LockstepTime time = compute(plan, list_wires);
    if (time.duration_ns >= kEndOfTime) throw NotSymmetric(kBeyondClock);
    return known_.emplace(key, time).first->second;
}

LockstepTime Lockstep::compute(const Plan& plan, const ListWires& list_wires) const {
    if (plan.phases.size() > 1) return flow_shop(plan, list_wires);
    // Equal streams of one phase run in waves.
    const LockstepTime stream = phase_time(plan.phases.front(), list_wires);
    const std::uint64_t width = settings_.active_chunks_per_dimension;
    return {in_sequence((plan.streams + width - 1) / width, stream.duration_ns), stream.tail_ns};
}

/// Streams pass their phases; a queue per dimension runs a few at a time, first come, first served.
///
/// Streams in the same phase are interchangeable. Streams of different phases that enter one queue in the
/// same tick come from different neighbours, so their order may differ between ranks: refused if it could
/// matter.
template <typename Started>
Time Lockstep::run_streams(const Plan& plan, const std::vector<Time>& durations, bool strict,
                           Started started) const {
    struct Queue {
        std::deque<std::size_t> waiting;  ///< phases of the waiting streams
        std::uint64_t running = 0;
    };
    std::map<std::uint32_t, Queue> queues;
    std::map<Time, std::vector<std::size_t>> ends;  ///< phases that end at a tick
    const auto fill = [&](Queue& queue, Time now) {
        while (queue.running < settings_.active_chunks_per_dimension && !queue.waiting.empty()) {
            const std::size_t phase = queue.waiting.front();
            queue.waiting.pop_front();
            ++queue.running;
            checkpoint_();
            started(phase);
            if (strict && now + durations[phase] >= kEndOfTime) throw NotSymmetric(kBeyondClock);
            ends[std::min(now + durations[phase], kEndOfTime)].push_back(phase);
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
                queue.running + queue.waiting.size() <= settings_.active_chunks_per_dimension;
            if (strict && mixed && !all_start)
                throw NotSymmetric("streams enter a queue from two neighbours in one tick");
        }
        for (auto& [dimension, queue] : queues) fill(queue, now);
    }
    return now;
}

LockstepTime Lockstep::flow_shop(const Plan& plan, const ListWires& list_wires) const {
    std::vector<Time> durations;
    Time tail_ns = 0;
    for (const Phase& phase : plan.phases) {
        const LockstepTime time = phase_time(phase, list_wires);
        durations.push_back(time.duration_ns);
        tail_ns = time.tail_ns;
    }
    return {run_streams(plan, durations, true, [](std::size_t) {}), tail_ns};
}

std::vector<std::uint32_t> Lockstep::start_order(const Plan& plan) const {
    std::vector<Time> durations;
    for (const Phase& phase : plan.phases) {
        try {
            durations.push_back(phase_time(phase, {}).duration_ns);
        } catch (const NotSymmetric&) {
            const std::uint64_t bytes = std::max<std::uint64_t>(phase.packet_bytes, 1);
            const Time message = network_.delay_ns(Wire{phase.dimension, 1}, bytes);
            durations.push_back(
                in_sequence(std::max<std::uint64_t>(phase.sends, 1), std::max<Time>(message, 1)));
        }
        durations.back() = std::min(durations.back(), kEndOfTime);  // an order does not need the exact time
    }
    std::vector<std::uint32_t> order;
    run_streams(plan, durations, false,
                [&](std::size_t phase) { order.push_back(static_cast<std::uint32_t>(phase)); });
    return order;
}

LockstepTime Lockstep::phase_time(const Phase& phase, const ListWires& list_wires) const {
    return phase.algorithm->lockstep_time(phase, LockstepWires(network_, list_wires, checkpoint_));
}

Wire LockstepWires::wire(const Phase& phase, std::uint32_t offset) const {
    if (phase.membership == Membership::kList)
        return list_wires_[std::min<std::size_t>(offset, list_wires_.size()) - 1];
    if (phase.membership == Membership::kAllRanks && network_.address().dimensions() > 1) {
        throw NotSymmetric("a logical ring over all ranks of several dimensions");
    }
    const network::Shape& shape = network_.shape(phase.dimension);
    if (!shape.is_rotation_symmetric())
        throw NotSymmetric("a topology that rotations do not map onto itself");
    return {phase.dimension, shape.hops(0, offset)};
}

Time LockstepWires::delay_ns(const Phase& phase, std::uint32_t offset, std::uint64_t bytes) const {
    const Wire way = wire(phase, offset);
    const Time result = bytes == 0 ? 0 : network_.delay_ns(way, bytes);
    if (result == 0) throw NotSymmetric("a message without delay");
    return result;
}

}  // namespace dse::collectives
