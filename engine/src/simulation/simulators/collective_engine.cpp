// Streams: creation, queues and phases. What runs in a phase is in packet_pump.cpp.
#include "simulation/simulators/collective_engine.hpp"

#include <algorithm>

namespace dse::simulator {

using collectives::Membership;
using collectives::Participants;
using collectives::Phase;
using collectives::QueueUse;

namespace {

constexpr std::uint32_t kFirstTag = 500'000'000;
constexpr std::uint64_t kOfRank = UINT64_MAX;  // streams that the rank numbers, not the group
constexpr std::size_t kCollectiveTypes = 8;
constexpr std::uint64_t kMostQueuesInAll = std::uint64_t{1} << 27;

std::size_t queues_in_all(std::uint32_t ranks, std::uint32_t per_rank) {
    const std::uint64_t queues = std::uint64_t{ranks} * per_rank;
    if (queues <= kMostQueuesInAll) return queues;
    throw SimulationError(std::to_string(ranks) + " NPUs with " + std::to_string(per_rank) +
                          " queues each are too many; at most " + std::to_string(kMostQueuesInAll) +
                          " queues in all can be simulated (queues_per_dimension)");
}

/// The first stream of each slot.
std::vector<std::uint64_t> first_streams(const workload::Workload& workload,
                                         const workload::Reference& reference) {
    std::vector<std::uint64_t> first;
    first.reserve(workload.communicator_of_slot.size());
    for (const std::uint32_t index : workload.communicator_of_slot) {
        if (index == workload::kNoSlot) {
            first.push_back(kOfRank);
            continue;
        }
        const workload::Communicator& communicator = workload.communicators[index];
        const bool of_all = communicator.members.empty() && reference.ranks_number_streams_of_all;
        const bool of_rank = communicator.by_dimension || of_all;
        first.push_back(of_rank ? kOfRank : reference.first_stream(communicator.name));
    }
    return first;
}

}  // namespace

CollectiveEngine::CollectiveEngine(const workload::Workload& workload, const SystemConfig& config,
                                   const network::CongestionUnaware& network, RankTimers& timers,
                                   Transport& transport, LinkNetwork* links, CollectiveListener& listener)
    : workload_(workload),
      config_(config),
      address_(network.address()),
      timers_(timers),
      transport_(transport),
      listener_(listener),
      scheduled_(timers, links),
      planner_(config, address_),
      lockstep_(config, network, timers.checkpoint()),
      queues_per_rank_(static_cast<std::uint32_t>(address_.dimensions()) * config.queues_per_dimension),
      width_((config.active_chunks_per_dimension + config.queues_per_dimension - 1) /
             config.queues_per_dimension),
      queues_(queues_in_all(workload.rank_count(), queues_per_rank_)),
      cursors_(workload.rank_count() * address_.dimensions(), Cursors{0, 0, config.queues_per_dimension / 2}),
      is_second_next_(workload.rank_count() * address_.dimensions() * kCollectiveTypes),
      slot_streams_(first_streams(workload, *config.reference)),
      rank_streams_(workload.rank_count()),
      custom_(timers, transport) {}

Participants CollectiveEngine::participants_of(CollectiveType type, std::uint32_t index) const {
    const workload::Communicator& communicator = workload_.communicators[index];
    if (communicator.by_dimension) return {true, 0, communicator.dimension_mask};
    const auto size = static_cast<std::uint32_t>(communicator.members.size());
    if (size == 0 || size == workload_.rank_count()) return {true, 0, UINT64_MAX};
    return planner_.list_of(type, size, index);
}

std::uint32_t CollectiveEngine::next_tag(std::uint32_t rank, std::uint32_t slot) {
    const std::size_t index = workload_.slot_begin[rank] + slot;
    // Streams of groups count too, so ranks with other groups before may number their own streams apart.
    const std::uint64_t of_rank = rank_streams_[rank]++;
    const std::uint64_t stream = slot_streams_[index] == kOfRank ? of_rank : slot_streams_[index]++;
    return kFirstTag + static_cast<std::uint32_t>(stream % kFirstTag);
}

bool CollectiveEngine::never_completes(std::uint32_t rank, std::uint32_t node) {
    if (!config_.custom.empty() && custom_prefix(rank, node) != nullptr) return false;
    const workload::Node& n = workload_.trace(rank).nodes[node];
    const std::uint32_t communicator = workload_.slots_of(rank)[n.slot];
    return planner_.plan(n.collective, n.bytes, participants_of(n.collective, communicator)).phases.empty();
}

/// The files of a custom collective, null if an algorithm runs it. A group keeps the choice of its first
/// collective of a type.
const std::string* CollectiveEngine::custom_prefix(std::uint32_t rank, std::uint32_t node) {
    const workload::Node& n = workload_.trace(rank).nodes[node];
    const std::string* const prefix =
        config_.custom.prefix_of(workload_.catalog->id(rank, node), n.collective);
    const std::size_t slot = workload_.slot_begin[rank] + n.slot;
    if (workload_.communicators[workload_.communicator_of_slot[slot]].name.empty()) return prefix;
    return kept_prefixes_.try_emplace({slot, n.collective}, prefix).first->second;
}

void CollectiveEngine::start_custom(std::uint32_t rank, std::uint32_t node, const std::string& prefix) {
    const std::uint32_t slot = workload_.trace(rank).nodes[node].slot;
    const auto& members = workload_.communicators[workload_.slots_of(rank)[slot]].members;
    const auto self = std::find(members.begin(), members.end(), rank);
    const std::size_t place = members.empty() ? rank : static_cast<std::size_t>(self - members.begin());
    next_tag(rank, slot);  // it is a stream, though its messages have tags of their own
    custom_.start(rank, node, *config_.custom.places.at(prefix).at(place), members);
}

void CollectiveEngine::custom_ended(std::uint32_t object) {
    const std::uint32_t run = custom_.ended(object);
    if (run == kNil) return;
    const std::uint32_t rank = custom_.rank_of(run);
    const std::uint32_t node = custom_.node_of(run);
    custom_.remove(run);
    listener_.collective_done(rank, node);
}

void CollectiveEngine::start(std::uint32_t rank, std::uint32_t node) {
    if (!config_.custom.empty()) {
        if (const std::string* const prefix = custom_prefix(rank, node)) {
            start_custom(rank, node, *prefix);
            return;
        }
    }
    const workload::Node& n = workload_.trace(rank).nodes[node];
    const std::uint32_t communicator = workload_.slots_of(rank)[n.slot];
    const collectives::Plan& plan =
        planner_.plan(n.collective, n.bytes, participants_of(n.collective, communicator));
    const std::uint32_t index = collectives_.acquire();
    collectives_[index].node = node;
    collectives_[index].streams_left = plan.streams;
    collectives_[index].places.clear();
    if (plan.phases.empty()) return;

    std::vector<PhasePlace>& places = collectives_[index].places;
    for (std::uint64_t i = 0; i < plan.streams; ++i) {
        for (const Phase& phase : plan.phases) places.push_back(place_phase(rank, n.collective, phase));
    }
    if (config_.issue_order == IssueOrder::kSafe) set_turns(rank, plan, places);
    for (std::uint64_t i = 0; i < plan.streams; ++i) {
        timers_.checkpoint()();
        Stream stream;
        stream.plan = &plan;
        stream.collective = index;
        stream.rank = rank;
        stream.communicator = communicator;
        stream.tag = next_tag(rank, n.slot);
        stream.first_place = static_cast<std::uint32_t>(i * plan.phases.size());
        Queue& queue = queue_of(rank, place_of(stream).queue);
        enter(queue, streams_.add(stream));
        fill(queue);
    }
}

/// Queue and direction by the cursors of the rank and dimension.
CollectiveEngine::PhasePlace CollectiveEngine::place_phase(std::uint32_t rank, CollectiveType collective,
                                                           const Phase& phase) {
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
    if (phase.alternates) {
        std::uint8_t& second = is_second_next_[row * kCollectiveTypes + static_cast<std::size_t>(collective)];
        place.second_variant = second != 0;
        second ^= 1U;
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

/// Ranks that start at different times may see streams come back to a queue in different orders, and then
/// wait for each other in it. In the safe issue order all ranks start them in the order of ranks in step.
void CollectiveEngine::set_turns(std::uint32_t rank, const collectives::Plan& plan,
                                 const std::vector<PhasePlace>& places) {
    for (std::uint32_t q = 0; q < queues_per_rank_; ++q) {
        queue_of(rank, q).turns.clear();
        queue_of(rank, q).next_turn = 0;
    }
    const auto phases = static_cast<std::uint32_t>(plan.phases.size());
    if (phases == 1) return;  // streams come once, in the order of their creation
    const auto [order, fresh] = start_orders_.try_emplace(&plan);
    if (fresh) order->second = lockstep_.start_order(plan);
    std::vector<std::uint32_t> streams_so_far(phases);
    for (const std::uint32_t phase : order->second) {
        const std::uint32_t place = streams_so_far[phase]++ * phases + phase;
        queue_of(rank, places[place].queue).turns.push_back(place);
    }
}

/// Moves the stream whose turn it is before the other waiting ones; false if it is not there yet.
bool CollectiveEngine::bring_forward(Queue& queue) {
    if (queue.turns.empty()) return true;
    const std::uint32_t turn = queue.turns[queue.next_turn];
    std::uint32_t found = queue.first_waiting;
    while (found != kNil && streams_[found].first_place + streams_[found].phase != turn) {
        found = streams_[found].next;
    }
    if (found == kNil) return false;
    ++queue.next_turn;
    if (found == queue.first_waiting) return true;
    Stream& stream = streams_[found];
    streams_[stream.previous].next = stream.next;
    (stream.next == kNil ? queue.tail : streams_[stream.next].previous) = stream.previous;
    Stream& after = streams_[queue.first_waiting];
    stream.previous = after.previous;
    stream.next = queue.first_waiting;
    (after.previous == kNil ? queue.head : streams_[after.previous].next) = found;
    after.previous = found;
    queue.first_waiting = found;
    return true;
}

void CollectiveEngine::fill(Queue& queue) {
    while (queue.running < width_ && queue.first_waiting != kNil && bring_forward(queue)) {
        const std::uint32_t stream = queue.first_waiting;
        queue.first_waiting = streams_[stream].next;
        ++queue.running;
        start_phase(stream);
    }
}

std::uint32_t CollectiveEngine::member(const Stream& stream, std::uint64_t index) const {
    const Phase& phase = phase_of(stream);
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
    const Phase& phase = phase_of(stream);
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
    begin(index);
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
