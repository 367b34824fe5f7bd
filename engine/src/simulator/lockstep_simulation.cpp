// A workload with one rank a class runs on the ordinary executor; collectives become single durations.
#include "simulator/lockstep_simulation.hpp"

#include <algorithm>
#include <utility>

#include "simulator/deadlock_report.hpp"
#include "simulator/graph_executor.hpp"
#include "simulator/lockstep_collective.hpp"
#include "simulator/rank_timers.hpp"
#include "simulator/tie_guard.hpp"
#include "simulator/transport.hpp"

namespace dse::simulator {

namespace {

using workload::Node;
using workload::NodeKind;
using workload::Workload;

/// The representatives as ranks 0, 1, …; the traces are shared with the original.
Workload representatives_of(const Workload& workload, const RankClasses& classes) {
    Workload result;
    result.traces = workload.traces;
    for (const std::uint32_t rank : classes.representative) {
        result.trace_of_rank.push_back(workload.trace_of_rank[rank]);
        result.lane_of_rank.push_back(workload.lane_of_rank[rank]);
    }
    return result;
}

class LockstepSimulation final : public CollectiveService, public MessageService {
public:
    LockstepSimulation(const Workload& original, const Workload& representatives, const SystemConfig& config,
                       const network::CongestionUnaware& network, const RankClasses& classes)
        : original_(original),
          representatives_(representatives),
          classes_(classes),
          network_(network),
          timers_(queue_, representatives.rank_count()),
          executor_(representatives, config, queue_, timers_, *this),
          planner_(config, network.address()),
          lockstep_(config, network),
          guard_(representatives.rank_count()) {
        executor_.use(*this);
        for (const Derating& d : config.deratings) {
            executor_.derate(classes.class_of_rank[d.npu], d.compute_factor, d.memory_factor);
        }
    }

    SimulationResult run(Recorder* recorder) {
        if (recorder != nullptr) executor_.keep_ends();
        executor_.start();
        Event event{};
        while (queue_.pop(event)) dispatch(event);
        SimulationResult result;
        result.classes = executor_.results();
        result.class_of_rank = classes_.class_of_rank;
        result.events = queue_.executed();
        result.blocked =
            blocked_nodes(original_, executor_, classes_.representative, awaited_peers(),
                          [this](auto index, auto node) { return plan_of(index, node).phases.empty(); });
        result.deadlock = !result.blocked.empty();
        if (recorder != nullptr) recorder->take(executor_, result);
        return result;
    }

    void start(std::uint32_t rank_class, std::uint32_t node) override {
        const CollectivePlan& plan = plan_of(rank_class, node);
        if (plan.phases.empty()) return;  // never completes
        const std::uint32_t slot = representatives_.trace(rank_class).nodes[node].slot;
        const LockstepTime time = lockstep_.time(plan, classes_.wire(rank_class, slot));
        guard_.collective(rank_class, queue_.now(), queue_.now() + time.duration_ns);
        // The timer that ends a collective is registered by its last packet, `tail` before the end.
        const std::uint32_t tail = tails_.add({rank_class, node, time.tail_ns});
        queue_.schedule(queue_.now() + time.duration_ns - time.tail_ns, {EventKind::kCollectiveTail, tail});
    }

    /// The destination is the rank that is the peer of the representative.
    void send(const MessageKey& key, Callback on_arrival) override {
        const std::uint32_t rank = classes_.representative[key.source];
        const Time delay = network_.delay_ns(rank, key.destination, key.bytes);
        if (delay == 0) throw NotSymmetric("a message without delay");
        const std::uint32_t to = classes_.class_of_rank[key.destination];
        const Message message{between_classes(key, key.source, to, key.source), on_arrival, queue_.now()};
        queue_.schedule(queue_.now() + delay, {EventKind::kArrival, messages_.add(message)});
    }

    void receive(const MessageKey& key, Callback on_receipt) override {
        const std::uint32_t from = classes_.class_of_rank[key.source];
        if (matcher_.post(between_classes(key, from, key.destination, key.destination), on_receipt)) return;
        queue_.schedule(queue_.now(), {EventKind::kLateReceive, late_.add(on_receipt)});
    }

private:
    struct Tail {
        std::uint32_t rank_class;
        std::uint32_t node;
        Time before_end;
    };

    struct Message {
        MessageKey key;
        Callback on_arrival;
        Time sent;
    };

    const CollectivePlan& plan_of(std::uint32_t rank_class, std::uint32_t node) {
        const Node& n = representatives_.trace(rank_class).nodes[node];
        const std::uint32_t rank = classes_.representative[rank_class];
        const workload::Communicator& group = original_.communicators[original_.slots_of(rank)[n.slot]];
        const auto size = static_cast<std::uint32_t>(group.members.size());
        const bool full = size == 0 || size == original_.rank_count();
        return planner_.plan(n.collective, n.bytes, {full, full ? 0 : size, full ? UINT64_MAX : 0});
    }

    /// Peers are reported as ranks: those of the representative.
    AwaitedPeers awaited_peers() const {
        AwaitedPeers peers;
        matcher_.for_each_posted([&](const MessageKey&, const Callback& callback) {
            const std::uint32_t lane = representatives_.lane_of_rank[callback.rank];
            peers[{callback.rank, callback.object}].insert(
                representatives_.trace(callback.rank).nodes[callback.object].peer + lane);
        });
        return peers;
    }

    /// Classes instead of ranks, and the tag without the lane that tells messages of one class apart.
    MessageKey between_classes(MessageKey key, std::uint32_t source, std::uint32_t destination,
                               std::uint32_t caller) const {
        return {key.tag - representatives_.lane_of_rank[caller], source, destination, key.bytes};
    }

    void dispatch(const Event& event) {
        switch (event.kind) {
            case EventKind::kBucket:
                timers_.run(event.object, [this](std::uint32_t rank_class, const Timer& timer) {
                    run_timer(rank_class, timer);
                });
                break;
            case EventKind::kArrival:
                arrive(event.object);
                break;
            case EventKind::kLateReceive: {
                const Callback callback = late_[event.object];
                late_.remove(event.object);
                note_single(callback.rank, queue_.now(), callback.rank);
                executor_.complete(callback.rank, callback.object);
                break;
            }
            default: {  // a collective's tail
                const Tail tail = tails_[event.object];
                tails_.remove(event.object);
                const Timer timer{TimerKind::kCollectiveDone, tail.node, queue_.now()};
                timers_.after(tail.rank_class, tail.before_end, timer);
                break;
            }
        }
    }

    void arrive(std::uint32_t index) {
        const Message message = messages_[index];
        messages_.remove(index);
        note_single(message.key.source, message.sent, message.key.source);
        if (message.key.destination != message.key.source) {
            note_single(message.key.destination, message.sent, message.key.source);
        }
        executor_.complete(message.on_arrival.rank, message.on_arrival.object);
        if (const auto callback = matcher_.arrive(message.key))
            executor_.complete(callback->rank, callback->object);
    }

    void note_single(std::uint32_t rank_class, Time inserted, std::uint32_t inserter) {
        guard_.note(rank_class, queue_.now(), {false, inserted, 0, false, inserter});
    }

    void run_timer(std::uint32_t rank_class, const Timer& timer) {
        const bool compute = timer.kind == TimerKind::kNodeDone;
        const Time registered = compute ? executor_.issued_at(rank_class, timer.object) : timer.detail;
        guard_.note(rank_class, queue_.now(),
                    {true, timers_.running_since(), registered, compute, rank_class});
        if (compute) {
            executor_.duration_over(rank_class, timer.object);
        } else {
            executor_.complete(rank_class, timer.object);
        }
    }

    const Workload& original_;
    const Workload& representatives_;
    const RankClasses& classes_;
    const network::CongestionUnaware& network_;
    EventQueue queue_;
    RankTimers timers_;
    GraphExecutor executor_;
    CollectivePlanner planner_;
    LockstepCollectives lockstep_;
    TieGuard guard_;
    Pool<Tail> tails_;
    Pool<Message> messages_;
    Pool<Callback> late_;
    ReceiveMatcher matcher_;
};

}  // namespace

SimulationResult simulate_classes(const Workload& workload, const SystemConfig& config,
                                  const network::CongestionUnaware& network, const RankClasses& classes,
                                  Recorder* recorder) {
    const Workload representatives = representatives_of(workload, classes);
    return LockstepSimulation(workload, representatives, config, network, classes).run(recorder);
}

}  // namespace dse::simulator
