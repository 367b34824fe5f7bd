// Streams: creation, queues and phases. The pumps are in packet_pump.cpp.
#include "simulator/collective_engine.hpp"

#include <algorithm>

namespace dse::simulator {

namespace {

constexpr std::uint32_t kFirstTag = 500'000'000;
constexpr std::uint64_t kFirstGroupStream = 1'000'000;
constexpr std::size_t kCollectiveTypes = 8;

}  // namespace

CollectiveEngine::CollectiveEngine(const workload::Workload& workload, const SystemConfig& config,
                                   const network::Address& address, RankTimers& timers, Transport& transport,
                                   CollectiveListener& listener)
    : workload_(workload),
      config_(config),
      address_(address),
      timers_(timers),
      transport_(transport),
      listener_(listener),
      planner_(config, address),
      queues_per_rank_(static_cast<std::uint32_t>(address.dimensions()) * config.queues_per_dimension),
      width_((config.active_chunks_per_dimension + config.queues_per_dimension - 1) /
             config.queues_per_dimension),
      queues_(static_cast<std::size_t>(workload.rank_count()) * queues_per_rank_),
      cursors_(workload.rank_count() * address.dimensions(), Cursors{0, 0, config.queues_per_dimension / 2}),
      tree_parity_(workload.rank_count() * address.dimensions() * kCollectiveTypes),
      slot_streams_(workload.communicator_of_slot.size()),
      dimension_streams_(workload.rank_count()) {
    for (const workload::Communicator& communicator : workload.communicators) {
        participants_.push_back(participants_of(communicator));
    }
}

Participants CollectiveEngine::participants_of(const workload::Communicator& communicator) const {
    if (communicator.by_dimension) return {true, 0, communicator.dimension_mask};
    const auto size = static_cast<std::uint32_t>(communicator.members.size());
    if (size == 0 || size == workload_.rank_count()) return {true, 0, UINT64_MAX};
    return {false, size, 0};
}

std::uint32_t CollectiveEngine::next_tag(std::uint32_t rank, std::uint32_t slot) {
    const std::size_t index = workload_.slot_begin[rank] + slot;
    const bool by_dimension = workload_.communicators[workload_.communicator_of_slot[index]].by_dimension;
    const std::uint64_t stream =
        by_dimension ? dimension_streams_[rank]++ : kFirstGroupStream + slot_streams_[index]++;
    return kFirstTag + static_cast<std::uint32_t>(stream % kFirstTag);
}

bool CollectiveEngine::never_completes(std::uint32_t rank, std::uint32_t node) {
    const workload::Node& n = workload_.trace(rank).nodes[node];
    const std::uint32_t communicator = workload_.slots_of(rank)[n.slot];
    return planner_.plan(n.collective, n.bytes, participants_[communicator]).phases.empty();
}

void CollectiveEngine::start(std::uint32_t rank, std::uint32_t node) {
    const workload::Node& n = workload_.trace(rank).nodes[node];
    const std::uint32_t communicator = workload_.slots_of(rank)[n.slot];
    const CollectivePlan& plan = planner_.plan(n.collective, n.bytes, participants_[communicator]);
    const std::uint32_t index = collectives_.acquire();
    collectives_[index].node = node;
    collectives_[index].streams_left = plan.streams;
    collectives_[index].places.clear();
    if (plan.phases.empty()) return;

    for (std::uint64_t i = 0; i < plan.streams; ++i) {
        Stream stream;
        stream.plan = &plan;
        stream.collective = index;
        stream.rank = rank;
        stream.communicator = communicator;
        stream.tag = next_tag(rank, n.slot);
        std::vector<PhasePlace>& places = collectives_[index].places;
        stream.first_place = static_cast<std::uint32_t>(places.size());
        for (const PhasePlan& phase : plan.phases) places.push_back(place_phase(rank, n.collective, phase));
        Queue& queue = queue_of(rank, places[stream.first_place].queue);
        enter(queue, streams_.add(stream));
        fill(queue);
    }
}

/// Queue and direction by the cursors of the rank and dimension (spec, 5.3).
CollectiveEngine::PhasePlace CollectiveEngine::place_phase(std::uint32_t rank, CollectiveType collective,
                                                           const PhasePlan& phase) {
    const std::uint32_t count = config_.queues_per_dimension;
    const std::uint32_t half = count / 2;
    const std::size_t row = rank * address_.dimensions() + phase.dimension;
    Cursors& cursors = cursors_[row];
    PhasePlace place{phase.dimension * count, true, false};
    switch (phase.queue_use) {
        case QueueUse::kNormal:
            place.queue += cursors.normal;
            place.clockwise = count == 1 || cursors.normal < half;
            cursors.normal = (cursors.normal + 1) % count;
            break;
        case QueueUse::kFirst:
            place.queue += cursors.first;
            if (++cursors.first >= half) cursors.first = 0;
            break;
        case QueueUse::kLast:
            place.queue += cursors.last;
            place.clockwise = false;
            if (++cursors.last >= count) cursors.last = half;
            break;
    }
    if (phase.algorithm == AlgorithmKind::kDoubleBinaryTree) {
        std::uint8_t& parity = tree_parity_[row * kCollectiveTypes + static_cast<std::size_t>(collective)];
        place.max_tree = parity == 0;
        parity ^= 1U;
    }
    return place;
}

void CollectiveEngine::enter(Queue& queue, std::uint32_t stream) {
    streams_[stream].previous = queue.tail;
    streams_[stream].next = kNil;
    if (queue.tail == kNil) {
        queue.head = stream;
    } else {
        streams_[queue.tail].next = stream;
    }
    queue.tail = stream;
    if (queue.first_waiting == kNil) queue.first_waiting = stream;
}

void CollectiveEngine::leave(Queue& queue, std::uint32_t stream) {
    const Stream& s = streams_[stream];
    if (s.previous == kNil) {
        queue.head = s.next;
    } else {
        streams_[s.previous].next = s.next;
    }
    if (s.next == kNil) {
        queue.tail = s.previous;
    } else {
        streams_[s.next].previous = s.previous;
    }
    --queue.running;
}

void CollectiveEngine::fill(Queue& queue) {
    while (queue.running < width_ && queue.first_waiting != kNil) {
        const std::uint32_t stream = queue.first_waiting;
        queue.first_waiting = streams_[stream].next;
        ++queue.running;
        start_phase(stream);
    }
}

std::uint32_t CollectiveEngine::member(const Stream& stream, std::uint64_t index) const {
    const PhasePlan& phase = phase_of(stream);
    switch (phase.membership) {
        case Membership::kDimension:
            return stream.first_member + static_cast<std::uint32_t>(index) * address_.stride(phase.dimension);
        case Membership::kList:
            return workload_.communicators[stream.communicator].members[index];
        case Membership::kAllRanks:
            break;
    }
    return static_cast<std::uint32_t>(index);
}

void CollectiveEngine::start_phase(std::uint32_t index) {
    Stream& stream = streams_[index];
    const PhasePlan& phase = phase_of(stream);
    stream.created = stream.sent = stream.credits = stream.received = 0;
    switch (phase.membership) {
        case Membership::kDimension:
            stream.own_index = address_.coordinate(stream.rank, phase.dimension);
            stream.first_member = stream.rank - stream.own_index * address_.stride(phase.dimension);
            break;
        case Membership::kList: {
            const auto& members = workload_.communicators[stream.communicator].members;
            const auto self = std::find(members.begin(), members.end(), stream.rank);
            stream.own_index = static_cast<std::uint32_t>(self - members.begin());
            break;
        }
        case Membership::kAllRanks:
            stream.own_index = stream.rank;
            break;
    }
    if (phase.algorithm == AlgorithmKind::kDoubleBinaryTree) {
        start_tree(index);
    } else {
        for (std::uint64_t i = 0; i < phase.window; ++i) create_packet(index);
    }
}

void CollectiveEngine::finish_phase(std::uint32_t index) {
    const std::uint32_t rank = streams_[index].rank;
    Queue& queue = queue_of(rank, place_of(streams_[index]).queue);
    if (streams_[index].phase + 1 < streams_[index].plan->phases.size()) {
        leave(queue, index);
        ++streams_[index].phase;
        Queue& next = queue_of(rank, place_of(streams_[index]).queue);
        enter(next, index);
        fill(queue);
        fill(next);
        return;
    }
    // The node ends, and may start another collective, while this stream still holds its place.
    const std::uint32_t collective = streams_[index].collective;
    const bool last = --collectives_[collective].streams_left == 0;
    if (last) {
        listener_.collective_done(rank, collectives_[collective].node);
        collectives_.remove(collective);
    }
    leave(queue, index);
    streams_.remove(index);
    fill(queue);
}

}  // namespace dse::simulator
