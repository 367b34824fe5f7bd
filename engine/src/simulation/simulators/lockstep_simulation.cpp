// A workload with one rank a class runs on the ordinary executor; collectives become single durations.
#include "simulation/simulators/lockstep_simulation.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "simulation/algorithms/lockstep.hpp"
#include "simulation/simulators/deadlock_report.hpp"
#include "simulation/simulators/graph_executor.hpp"
#include "simulation/simulators/issue_plan.hpp"
#include "simulation/simulators/rank_timers.hpp"
#include "simulation/simulators/tie_guard.hpp"
#include "simulation/simulators/transport.hpp"

namespace dse::simulator {

namespace {

using workload::Node;
using workload::NodeKind;
using workload::Workload;

/// The representatives as ranks 0, 1, …; the traces are shared with the original.
Workload representatives_of(const Workload& workload, const RankClasses& classes) {
    Workload result;
    result.traces = workload.traces;
    result.catalog = workload.catalog;
    for (const std::uint32_t rank : classes.representative) {
        result.trace_of_rank.push_back(workload.trace_of_rank[rank]);
        result.lane_of_rank.push_back(workload.lane_of_rank[rank]);
    }
    return result;
}

bool has_equal_links(const network::CongestionUnaware& network) {
    for (std::uint32_t d = 0; d < network.address().dimensions(); ++d) {
        if (!network.shape(d).is_uniform()) return false;
    }
    return true;
}

enum class Purpose : std::uint8_t {
    kResult,  ///< exact times, or NotSymmetric
    kPlan,    ///< an order: times may be estimates
};

class LockstepSimulation final : public CollectiveService, public MessageService {
public:
    LockstepSimulation(const Workload& original, const Workload& representatives, const SystemConfig& config,
                       const network::CongestionUnaware& network, const RankClasses& classes, Purpose purpose,
                       const Checkpoint& checkpoint)
        : original_(original),
          representatives_(representatives),
          classes_(classes),
          network_(network),
          config_(config),
          purpose_(purpose),
          uniform_(has_equal_links(network)),
          queue_(checkpoint),
          timers_(queue_, representatives.rank_count()),
          executor_(representatives, config, queue_, timers_, *this),
          planner_(config, network.address()),
          lockstep_(config, network, checkpoint),
          guard_(representatives.rank_count()) {
        executor_.use(*this);
        if (config.has_equal_npus()) return;
        for (std::uint32_t index = 0; index < classes.representative.size(); ++index)
            executor_.run_at(index, config.speed_of(classes.representative[index]));
    }

    IssuePlan plan() {
        run_events();
        return plan_of_run(representatives_, executor_);
    }

    SimulationResult run(Recorder* recorder, const IssuePlan* plan) {
        if (recorder != nullptr) executor_.keep_ends();
        if (plan != nullptr) executor_.follow(*plan);
        run_events();
        SimulationResult result;
        result.classes = executor_.results();
        result.class_of_rank = classes_.class_of_rank;
        result.events = queue_.executed();
        result.blocked = blocked_nodes(
            original_, executor_, classes_.representative, awaited_peers(),
            [this](auto index, auto node) { return plan_of(index, node).phases.empty(); },
            queue_.checkpoint());
        result.deadlock = !result.blocked.empty();
        if (recorder != nullptr) recorder->take(executor_, result, queue_.checkpoint());
        return result;
    }

    void start(std::uint32_t rank_class, std::uint32_t node) override {
        const std::optional<collectives::LockstepTime> known = time_of(rank_class, node);
        if (!known) return;  // never completes
        const collectives::LockstepTime time = *known;
        guard_.collective(rank_class, queue_.now(), queue_.now() + time.duration_ns);
        if (time.tail_ns == time.duration_ns) {  // one delay
            timers_.after(rank_class, time.duration_ns, {TimerKind::kCollectiveDone, node, queue_.now()});
            return;
        }
        // The timer that ends a collective is registered by its last packet, `tail` before the end.
        const std::uint32_t tail = tails_.add({rank_class, node, time.tail_ns});
        queue_.schedule(queue_.now() + time.duration_ns - time.tail_ns, {EventKind::kCollectiveTail, tail});
    }

    /// The destination is the rank that is the peer of the representative.
    void send(const MessageKey& key, Callback on_arrival) override {
        require_content(key);
        const std::uint32_t rank = classes_.representative[key.source];
        Time delay = network_.delay_ns(rank, key.destination, key.bytes);
        if (delay == 0 && purpose_ == Purpose::kResult) throw NotSymmetric("a message without delay");
        delay = std::max<Time>(delay, 1);
        const std::uint32_t to = classes_.class_of_rank[key.destination];
        const Message message{between_classes(key, key.source, to, key.source), on_arrival, queue_.now(),
                              delay};
        const std::uint32_t index = messages_.add(message);
        // Plans alone meet the rendezvous protocol: the message leaves when its receive is posted too.
        if (config_.rendezvous && grants_.post(message.key, {CallbackKind::kGrantedSend, to, index})) return;
        transmit(index);
    }

    void receive(const MessageKey& key, Callback on_receipt) override {
        const std::uint32_t from = classes_.class_of_rank[key.source];
        const MessageKey own_key = between_classes(key, from, key.destination, key.destination);
        if (config_.rendezvous) {
            if (const auto granted = grants_.arrive(own_key)) transmit(granted->object);
        }
        if (matcher_.post(own_key, on_receipt)) return;
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
        Time delay;
    };

    void run_events() {
        executor_.start();
        Event event{};
        while (queue_.pop(event)) dispatch(event);
    }

    /// None if the collective never completes.
    std::optional<collectives::LockstepTime> time_of(std::uint32_t rank_class, std::uint32_t node) {
        const Node& n = representatives_.trace(rank_class).nodes[node];
        const network::ListWires& wires = classes_.wires(rank_class, n.slot);
        if (purpose_ == Purpose::kResult) {
            const collectives::Plan& plan = plan_of(rank_class, node);
            return plan.phases.empty() ? std::nullopt : std::optional(lockstep_.time(plan, wires));
        }
        try {
            if (!config_.custom.empty()) throw NotSymmetric("custom collectives");
            if (!uniform_) throw NotSymmetric("a network with unequal links");
            const collectives::Plan& plan = plan_of(rank_class, node);
            return plan.phases.empty() ? std::nullopt : std::optional(lockstep_.time(plan, wires));
        } catch (const NotSymmetric&) {
        } catch (const SimulationError&) {  // the run that follows the plan meets it again
        }
        return collectives::LockstepTime{one_message_ns(classes_.representative[rank_class], n), 0};
    }

    /// A message with the size of a collective, from a rank to the next one of its group.
    Time one_message_ns(std::uint32_t rank, const Node& node) const {
        const auto& members = original_.communicators[original_.slots_of(rank)[node.slot]].members;
        std::uint32_t next = (rank + 1) % original_.rank_count();
        if (const auto found = std::find(members.begin(), members.end(), rank); found != members.end()) {
            next = found + 1 == members.end() ? members.front() : *(found + 1);
        }
        return next == rank ? 1 : std::max<Time>(network_.delay_ns(rank, next, node.bytes), 1);
    }

    void transmit(std::uint32_t message) {
        queue_.schedule(queue_.now() + messages_[message].delay, {EventKind::kArrival, message});
    }

    const collectives::Plan& plan_of(std::uint32_t rank_class, std::uint32_t node) {
        const Node& n = representatives_.trace(rank_class).nodes[node];
        const std::uint32_t rank = classes_.representative[rank_class];
        const std::uint32_t index = original_.slots_of(rank)[n.slot];
        const workload::Communicator& group = original_.communicators[index];
        const auto size = static_cast<std::uint32_t>(group.members.size());
        const bool full = size == 0 || size == original_.rank_count();
        if (!full) return planner_.plan(n.collective, n.bytes, planner_.list_of(n.collective, size, index));
        return planner_.plan(n.collective, n.bytes, {true, 0, UINT64_MAX});
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
        note(rank_class, {false, inserted, 0, false, inserter});
    }

    void note(std::uint32_t rank_class, const EventOrigin& event) {
        if (purpose_ == Purpose::kResult) guard_.note(rank_class, queue_.now(), event);
    }

    void run_timer(std::uint32_t rank_class, const Timer& timer) {
        const bool compute = timer.kind == TimerKind::kNodeDone;
        const Time registered = compute ? executor_.issued_at(rank_class, timer.object) : timer.detail;
        note(rank_class, {true, timers_.running_since(), registered, compute, rank_class});
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
    const SystemConfig& config_;
    Purpose purpose_;
    bool uniform_;
    EventQueue queue_;
    RankTimers timers_;
    GraphExecutor executor_;
    collectives::Planner planner_;
    collectives::Lockstep lockstep_;
    TieGuard guard_;
    Pool<Tail> tails_;
    Pool<Message> messages_;
    Pool<Callback> late_;
    ReceiveMatcher matcher_;
    ReceiveMatcher grants_;  ///< rendezvous: posted are sends, what arrives are posted receives
};

}  // namespace

SimulationResult simulate_classes(const Workload& workload, const SystemConfig& config,
                                  const network::CongestionUnaware& network, const RankClasses& classes,
                                  Recorder* recorder, const IssuePlan* plan, const Checkpoint& checkpoint) {
    const Workload representatives = representatives_of(workload, classes);
    return LockstepSimulation(workload, representatives, config, network, classes, Purpose::kResult,
                              checkpoint)
        .run(recorder, plan);
}

IssuePlan plan_issue_order(const Workload& workload, const SystemConfig& config,
                           const network::CongestionUnaware& network, const Checkpoint& checkpoint) {
    const SystemConfig sound = sound_system(config);
    const RankClasses classes = assume_rank_classes(workload, network);
    const Workload representatives = representatives_of(workload, classes);
    return LockstepSimulation(workload, representatives, sound, network, classes, Purpose::kPlan, checkpoint)
        .plan();
}

}  // namespace dse::simulator
