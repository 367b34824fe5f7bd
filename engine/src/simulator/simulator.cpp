// Wires queue, timers, transport, collectives and executor together and runs the event loop.
#include "simulator/simulator.hpp"

#include <string>
#include <unordered_map>
#include <vector>

#include "core/error.hpp"
#include "network/congestion_unaware.hpp"
#include "simulator/deadlock_report.hpp"
#include "simulator/graph_executor.hpp"

namespace dse::simulator {

namespace {

void check_fit(const workload::Workload& workload, const SystemConfig& config, std::uint32_t npus) {
    if (workload.rank_count() != npus) {
        throw InputError("the workload has " + std::to_string(workload.rank_count()) +
                         " ranks, but the network has " + std::to_string(npus) + " NPUs");
    }
    for (const workload::Trace& trace : workload.traces) {
        if (config.track_memory && !trace.untracked_reason.empty()) {
            throw InputError(trace.untracked_reason +
                             "; memory tracking needs it, or set track-local-mem to 0");
        }
        if (config.roofline && !config.replay_only && !trace.no_roofline_reason.empty()) {
            throw InputError(trace.no_roofline_reason + "; or set roofline-enabled to 0");
        }
        if (trace.least_dimension_entries < config.network.size()) {
            throw InputError("an involve_dims list has " + std::to_string(trace.least_dimension_entries) +
                             " entries, but the network has " + std::to_string(config.network.size()) +
                             " dimensions; it needs an entry for each");
        }
    }
}

/// Gathers ranks with equal traces and figures.
void classify(const workload::Workload& workload, const std::vector<RankResult>& ranks,
              SimulationResult& result) {
    std::unordered_multimap<std::uint64_t, std::uint32_t> classes_by_time;
    std::vector<std::uint32_t> trace_of_class;
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
        std::uint32_t found = kNil;
        const auto [first, last] = classes_by_time.equal_range(ranks[rank].finish_ns);
        for (auto it = first; it != last && found == kNil; ++it) {
            const bool same_trace = trace_of_class[it->second] == workload.trace_of_rank[rank];
            if (same_trace && result.classes[it->second] == ranks[rank]) found = it->second;
        }
        if (found == kNil) {
            found = static_cast<std::uint32_t>(result.classes.size());
            result.classes.push_back(ranks[rank]);
            trace_of_class.push_back(workload.trace_of_rank[rank]);
            classes_by_time.emplace(ranks[rank].finish_ns, found);
        }
        result.class_of_rank.push_back(found);
    }
}

class Simulation final : public CollectiveListener {
public:
    Simulation(const workload::Workload& workload, const SystemConfig& config,
               const network::CongestionUnaware& network)
        : workload_(workload),
          timers_(queue_, workload.rank_count()),
          transport_(queue_, network, config.rendezvous),
          executor_(workload, config, queue_, timers_, transport_),
          collectives_(workload, config, network.address(), timers_, transport_, *this) {
        executor_.use(collectives_);
    }

    SimulationResult run() {
        executor_.start();
        Event event{};
        while (queue_.pop(event)) dispatch(event);
        SimulationResult result;
        classify(workload_, executor_.results(), result);
        result.events = queue_.executed();
        result.blocked = blocked_nodes(workload_, executor_, collectives_, transport_);
        result.deadlock = !result.blocked.empty();
        return result;
    }

    void collective_done(std::uint32_t rank, std::uint32_t node) override { executor_.complete(rank, node); }

private:
    void dispatch(const Event& event) {
        const auto call = [this](const Callback& callback) {
            if (callback.kind == CallbackKind::kStreamReceive) {
                collectives_.received(callback.object);
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
            default:
                transport_.late_receive(event.object, call);
        }
    }

    const workload::Workload& workload_;
    EventQueue queue_;
    RankTimers timers_;
    Transport transport_;
    GraphExecutor executor_;
    CollectiveEngine collectives_;
};

}  // namespace

SimulationResult simulate(const workload::Workload& workload, const SystemConfig& config) {
    check(config);
    const network::CongestionUnaware network(config.network);
    check_fit(workload, config, network.address().npus());
    return Simulation(workload, config, network).run();
}

}  // namespace dse::simulator
