// Events of links: a message reaches the next device, and its link is free again.
#include "simulation/simulators/link_network.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace dse::simulator {

LinkNetwork::LinkNetwork(EventQueue& queue, const std::vector<network::Dimension>& dimensions,
                         std::vector<network::LinkFault> faults, bool cut_through)
    : queue_(queue),
      fabric_(dimensions, queue.checkpoint()),
      faults_(std::move(faults)),
      cut_through_(cut_through),
      links_(fabric_.links().size()) {
    if (!faults_.empty()) {
        network::Fabric trial = fabric_;
        for (const network::LinkFault& fault : faults_) trial.degrade(fault);  // all must name a link
    }
    for (std::uint32_t i = 0; i < faults_.size(); ++i) {
        if (faults_[i].at_ns == 0) {
            fabric_.degrade(faults_[i]);
        } else {
            queue_.schedule(faults_[i].at_ns, {EventKind::kFault, i});
        }
    }
}

void LinkNetwork::inject(std::uint32_t message, std::uint32_t source, std::uint32_t destination,
                         std::uint64_t bytes) {
    const std::uint32_t index = new_packet(message, EventKind::kArrival, bytes);
    const auto route = fabric_.route(source, destination, queue_.checkpoint());
    packets_[index].links.assign(route.begin(), route.end());
    enter(index);
}

void LinkNetwork::send_over(std::uint32_t object, std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
    const std::uint32_t* const link = fabric_.link_between(from, to);
    if (link == nullptr || fabric_.link(*link).removed) {
        throw SimulationError("a synthesized collective sends over the link from " + std::to_string(from) +
                              " to " + std::to_string(to) +
                              ", which is removed by then; its schedule does not go round it");
    }
    const std::uint32_t index = new_packet(object, EventKind::kScheduledArrival, bytes);
    packets_[index].links.assign(1, *link);
    enter(index);
}

std::uint32_t LinkNetwork::new_packet(std::uint32_t message, EventKind at_end, std::uint64_t bytes) {
    const std::uint32_t index = packets_.acquire();
    Packet& packet = packets_[index];
    packet.message = message;
    packet.at_end = at_end;
    packet.bytes = bytes;
    packet.tail = 0;
    packet.position = 0;
    return index;
}

void LinkNetwork::enter(std::uint32_t index) {
    Packet& packet = packets_[index];
    const std::uint32_t link = packet.links[packet.position];
    LinkState& state = links_[link];
    if (!state.busy) {
        transmit(link, index);
        return;
    }
    packet.next = kNil;
    if (state.tail == kNil) {
        state.head = index;
    } else {
        packets_[state.tail].next = index;
    }
    state.tail = index;
}

void LinkNetwork::transmit(std::uint32_t index, std::uint32_t packet) {
    const network::FabricLink& link = fabric_.link(index);
    const double serialisation = static_cast<double>(packets_[packet].bytes) / link.bytes_per_ns;
    links_[index].busy = true;
    Time arrival = queue_.now() + whole_ns(link.latency_ns + serialisation);
    const bool last = packets_[packet].position + 1 == packets_[packet].links.size();
    if (cut_through_) {
        const Time latency = whole_ns(link.latency_ns);
        Time& tail = packets_[packet].tail;
        tail = std::max(arrival, tail + latency);
        arrival = last ? tail : queue_.now() + latency;
    }
    if (last) {
        queue_.schedule(arrival, {packets_[packet].at_end, packets_[packet].message});
        packets_.remove(packet);
    } else {
        queue_.schedule(arrival, {EventKind::kHop, packet});
    }
    queue_.schedule(queue_.now() + whole_ns(serialisation), {EventKind::kLinkFree, index});
}

void LinkNetwork::hop(std::uint32_t packet) {
    ++packets_[packet].position;
    enter(packet);
}

void LinkNetwork::link_free(std::uint32_t index) {
    LinkState& state = links_[index];
    state.busy = false;
    if (state.head == kNil) return;
    const std::uint32_t packet = state.head;
    state.head = packets_[packet].next;
    if (state.head == kNil) state.tail = kNil;
    transmit(index, packet);
}

}  // namespace dse::simulator
