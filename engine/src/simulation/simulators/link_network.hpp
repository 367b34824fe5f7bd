// The congestion-aware network: links with queues, store and forward, or
// cut-through.
#pragma once

#include <cstdint>
#include <vector>

#include "base/pool.hpp"
#include "simulation/networks/fabric.hpp"
#include "simulation/simulators/event_queue.hpp"

namespace dse::simulator {

/// Moves messages link by link. A link carries one message at a time; others wait in order of arrival.
///
/// With cut-through the head of a message goes on when it has come, the tail follows as fast as the slowest
/// link so far lets it, and each link is busy for its own serialisation: on an empty network a message takes
/// all latencies and the serialisation of the slowest link.
class LinkNetwork {
public:
    /// Schedules the faults of a later time. Throws InputError for a fault on a link that does not exist.
    LinkNetwork(EventQueue& queue, const std::vector<network::Dimension>& dimensions,
                std::vector<network::LinkFault> faults, bool cut_through = false);

    /// Enters the first link now; the last device raises an kArrival event for `message`.
    void inject(std::uint32_t message, std::uint32_t source, std::uint32_t destination, std::uint64_t bytes);

    /// Enters the link between two devices now; a kScheduledArrival event for `object` is raised at its end.
    /// Throws SimulationError if it is not there any more.
    void send_over(std::uint32_t object, std::uint32_t from, std::uint32_t to, std::uint64_t bytes);
    std::uint32_t device_on_line(std::uint32_t dimension, std::uint32_t npu, std::uint32_t local) const {
        return fabric_.device_on_line(dimension, npu, local);
    }

    void hop(std::uint32_t packet);
    void link_free(std::uint32_t link);
    void fault(std::uint32_t index) { fabric_.degrade(faults_[index]); }

private:
    struct Packet {
        std::uint32_t message = 0;
        EventKind at_end = EventKind::kArrival;
        std::uint64_t bytes = 0;
        Time tail = 0;                     ///< cut-through: when all of it is at the device
        std::uint32_t position = 0;        ///< in `links`
        std::vector<std::uint32_t> links;  ///< the route, fixed when the message is sent
        std::uint32_t next = kNil;         ///< behind it in the queue of a link
    };
    struct LinkState {
        bool busy = false;
        std::uint32_t head = kNil, tail = kNil;
    };

    std::uint32_t new_packet(std::uint32_t message, EventKind at_end, std::uint64_t bytes);
    void enter(std::uint32_t packet);
    void transmit(std::uint32_t link, std::uint32_t packet);

    EventQueue& queue_;
    network::Fabric fabric_;
    std::vector<network::LinkFault> faults_;
    bool cut_through_;
    std::vector<LinkState> links_;
    Pool<Packet> packets_;
};

}  // namespace dse::simulator
