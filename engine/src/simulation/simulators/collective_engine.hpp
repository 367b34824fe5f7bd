// Runs collectives: streams in queues, packet pumps, algorithms that step themselves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/pool.hpp"
#include "simulation/algorithms/lockstep.hpp"
#include "simulation/algorithms/plan.hpp"
#include "simulation/simulators/config.hpp"
#include "simulation/simulators/custom_runs.hpp"
#include "simulation/simulators/rank_timers.hpp"
#include "simulation/simulators/scheduled_collectives.hpp"
#include "simulation/simulators/transport.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::simulator {

/// Learns that a collective has ended on a rank.
class CollectiveListener {
public:
    virtual ~CollectiveListener() = default;
    virtual void collective_done(std::uint32_t rank, std::uint32_t node) = 0;
};

/// Runs collective nodes; ends them through a CollectiveListener.
class CollectiveService {
public:
    virtual ~CollectiveService() = default;
    virtual void start(std::uint32_t rank, std::uint32_t node) = 0;
};

class CollectiveEngine final : public CollectiveService {
public:
    CollectiveEngine(const workload::Workload& workload, const SystemConfig& config,
                     const network::CongestionUnaware& network, RankTimers& timers, Transport& transport,
                     LinkNetwork* links, CollectiveListener& listener);

    /// Creates the streams of a collective node on one rank. Without phases the node never completes.
    void start(std::uint32_t rank, std::uint32_t node) override;

    void timer(std::uint32_t rank, const Timer& timer);
    void received(std::uint32_t stream);
    /// A node of a custom collective has ended.
    void custom_ended(std::uint32_t object);
    std::uint32_t node_of_custom(std::uint32_t object) const {
        return custom_.node_of(custom_.run_of(object));
    }
    void scheduled_arrival(std::uint32_t object) { scheduled_.arrived(object); }

    /// Members that a scheduled collective waits for: `visit(waiting rank, its node, missing rank)`.
    template <typename Visitor>
    void for_each_missing(Visitor visit) const {
        scheduled_.for_each_missing([&](std::uint32_t stream, std::uint32_t missing) {
            visit(streams_[stream].rank, node_of(stream), member(streams_[stream], missing));
        });
    }

    /// Whether a communicator leaves a collective without any phase, so that its node never completes.
    bool never_completes(std::uint32_t rank, std::uint32_t node);

    /// The node that a stream works for, for reports.
    std::uint32_t node_of(std::uint32_t stream) const {
        return collectives_[streams_[stream].collective].node;
    }

private:
    /// Queue and direction that a phase was given when its stream was created.
    struct PhasePlace {
        std::uint32_t queue;
        bool clockwise;
        bool second_variant;
    };
    struct Collective {
        std::uint32_t node = 0;
        std::uint64_t streams_left = 0;
        std::vector<PhasePlace> places;  ///< stream by stream, phase by phase
    };
    struct Stream {
        const collectives::Plan* plan = nullptr;
        std::uint32_t collective = 0;
        std::uint32_t first_place = 0;
        std::uint32_t rank = 0;
        std::uint32_t tag = 0;
        std::uint32_t communicator = 0;
        std::uint32_t phase = 0;
        std::uint32_t previous = kNil, next = kNil;  ///< neighbours in the queue
        std::uint32_t own_index = 0;                 ///< of the rank among the phase's members
        std::uint32_t first_member = 0;              ///< membership by dimension: rank with coordinate 0
        std::uint64_t created = 0, sent = 0, credits = 0, received = 0;
    };
    struct Queue {
        std::uint32_t head = kNil, tail = kNil, first_waiting = kNil;
        std::uint64_t running = 0;
        /// Safe issue order, several phases: places in the order in which their streams start. Else empty.
        std::vector<std::uint32_t> turns;
        std::size_t next_turn = 0;
    };
    struct Cursors {
        std::uint32_t normal = 0, first = 0, last = 0;
    };
    class StreamMember;

    collectives::Participants participants_of(CollectiveType type, std::uint32_t communicator) const;
    std::uint32_t next_tag(std::uint32_t rank, std::uint32_t slot);
    const std::string* custom_prefix(std::uint32_t rank, std::uint32_t node);
    void start_custom(std::uint32_t rank, std::uint32_t node, const std::string& prefix);
    PhasePlace place_phase(std::uint32_t rank, CollectiveType collective, const collectives::Phase& phase);

    Queue& queue_of(std::uint32_t rank, std::uint32_t queue) {
        return queues_[rank * queues_per_rank_ + queue];
    }
    void enter(Queue& queue, std::uint32_t stream);
    void leave(Queue& queue, std::uint32_t stream);
    void fill(Queue& queue);
    void set_turns(std::uint32_t rank, const collectives::Plan& plan, const std::vector<PhasePlace>& places);
    bool bring_forward(Queue& queue);

    const collectives::Phase& phase_of(const Stream& stream) const {
        return stream.plan->phases[stream.phase];
    }
    const PhasePlace& place_of(const Stream& stream) const {
        return collectives_[stream.collective].places[stream.first_place + stream.phase];
    }
    std::uint32_t member(const Stream& stream, std::uint64_t index) const;
    void start_phase(std::uint32_t stream);
    void finish_phase(std::uint32_t stream);

    void begin(std::uint32_t index);
    void create_packet(std::uint32_t index);
    void credit(std::uint32_t index);
    void try_send(std::uint32_t index);
    bool at_end(const Stream& stream) const;

    void send(std::uint32_t index, std::uint32_t to, std::uint64_t bytes);
    void receive(std::uint32_t index, std::uint32_t from, std::uint64_t bytes);

    const workload::Workload& workload_;
    const SystemConfig& config_;
    const network::Address& address_;
    RankTimers& timers_;
    Transport& transport_;
    CollectiveListener& listener_;
    ScheduledCollectives scheduled_;
    collectives::Planner planner_;
    collectives::Lockstep lockstep_;
    std::map<const collectives::Plan*, std::vector<std::uint32_t>> start_orders_;
    std::uint32_t queues_per_rank_;
    std::uint64_t width_;  ///< streams of a queue that run at once
    std::vector<Queue> queues_;
    std::vector<Cursors> cursors_;              ///< per rank and dimension
    std::vector<std::uint8_t> is_second_next_;  ///< per rank, collective type and dimension
    std::vector<std::uint64_t> slot_streams_;   ///< next stream per rank and slot, or kOfRank
    std::vector<std::uint64_t> rank_streams_;   ///< streams so far, per rank
    Pool<Collective> collectives_;
    Pool<Stream> streams_;
    CustomRuns custom_;
    std::map<std::pair<std::size_t, CollectiveType>, const std::string*>
        kept_prefixes_;  ///< of groups, by slot
};

}  // namespace dse::simulator
