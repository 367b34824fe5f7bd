// Wires queue, timers, transport, collectives and executor together and runs the event loop.
#include "simulation/simulators/general_simulation.hpp"

#include <memory>
#include <numeric>

#include "simulation/simulators/collective_engine.hpp"
#include "simulation/simulators/deadlock_report.hpp"
#include "simulation/simulators/graph_executor.hpp"
#include "simulation/simulators/rank_timers.hpp"
#include "simulation/simulators/transport.hpp"

namespace dse::simulator {

namespace {

class Simulation final : public CollectiveListener {
public:
    Simulation(const workload::Workload& workload, const SystemConfig& config,
               const network::CongestionUnaware& network, const IssuePlan* plan, const Checkpoint& checkpoint)
        : workload_(workload),
          queue_(checkpoint),
          timers_(queue_, workload.rank_count()),
          links_(make_links(config)),
          transport_(queue_, network, links_.get(), config.rendezvous),
          executor_(workload, config, queue_, timers_, transport_),
          collectives_(workload, config, network, timers_, transport_, links_.get(), *this) {
        executor_.use(collectives_);
        if (plan != nullptr) executor_.follow(*plan);
        if (config.has_equal_npus()) return;
        for (std::uint32_t npu = 0; npu < workload.rank_count(); ++npu)
            executor_.run_at(npu, config.speed_of(npu));
    }

    SimulationResult run(Recorder* recorder) {
        if (recorder != nullptr) executor_.keep_ends();
        executor_.start();
        Event event{};
        while (queue_.pop(event)) dispatch(event);
        SimulationResult result;
        result.classes = executor_.results();
        result.class_of_rank.resize(workload_.rank_count());
        std::iota(result.class_of_rank.begin(), result.class_of_rank.end(), 0U);
        result.events = queue_.executed();
        result.blocked = blocked_nodes(
            workload_, executor_, result.class_of_rank, awaited_peers(),
            [this](auto r, auto n) { return collectives_.never_completes(r, n); }, queue_.checkpoint());
        result.deadlock = !result.blocked.empty();
        if (recorder != nullptr) recorder->take(executor_, result, queue_.checkpoint());
        return result;
    }

    void collective_done(std::uint32_t rank, std::uint32_t node) override { executor_.complete(rank, node); }

private:
    std::unique_ptr<LinkNetwork> make_links(const SystemConfig& config) {
        if (!config.congestion_aware) return nullptr;
        return std::make_unique<LinkNetwork>(queue_, config.network, config.faults, config.cut_through);
    }

    AwaitedPeers awaited_peers() const {
        AwaitedPeers peers;
        transport_.for_each_unmatched_receive([&](const MessageKey& key, const Callback& callback) {
            queue_.checkpoint()();
            if (callback.kind == CallbackKind::kStreamReceive) {
                peers[{callback.rank, collectives_.node_of(callback.object)}].insert(key.source);
            } else if (callback.kind == CallbackKind::kCustomNode) {
                peers[{callback.rank, collectives_.node_of_custom(callback.object)}].insert(key.source);
            } else if (callback.kind == CallbackKind::kNodeDone) {
                peers[{callback.rank, callback.object}].insert(key.source);
            }
        });
        collectives_.for_each_missing([&](std::uint32_t rank, std::uint32_t node, std::uint32_t missing) {
            peers[{rank, node}].insert(missing);
        });
        return peers;
    }

    void dispatch(const Event& event) {
        const auto call = [this](const Callback& callback) {
            if (callback.kind == CallbackKind::kStreamReceive) {
                collectives_.received(callback.object);
            } else if (callback.kind == CallbackKind::kCustomNode) {
                collectives_.custom_ended(callback.object);
            } else {
                executor_.complete(callback.rank, callback.object);
            }
        };
        switch (event.kind) {
            case EventKind::kBucket:
                timers_.run(event.object, [this](std::uint32_t rank, const Timer& timer) {
                    if (timer.kind == TimerKind::kNodeDone) {
                        executor_.duration_over(rank, timer.object);
                    } else {
                        collectives_.timer(rank, timer);
                    }
                });
                break;
            case EventKind::kArrival:
                transport_.arrive(event.object, call);
                break;
            case EventKind::kHop:
                links_->hop(event.object);
                break;
            case EventKind::kLinkFree:
                links_->link_free(event.object);
                break;
            case EventKind::kScheduledArrival:
                collectives_.scheduled_arrival(event.object);
                break;
            case EventKind::kFault:
                links_->fault(event.object);
                break;
            default:
                transport_.late_receive(event.object, call);
        }
    }

    const workload::Workload& workload_;
    EventQueue queue_;
    RankTimers timers_;
    std::unique_ptr<LinkNetwork> links_;
    Transport transport_;
    GraphExecutor executor_;
    CollectiveEngine collectives_;
};

}  // namespace

SimulationResult simulate_every_rank(const workload::Workload& workload, const SystemConfig& config,
                                     const network::CongestionUnaware& network, Recorder* recorder,
                                     const IssuePlan* plan, const Checkpoint& checkpoint) {
    return Simulation(workload, config, network, plan, checkpoint).run(recorder);
}

}  // namespace dse::simulator
