// Checks, then the fast way if it is proven for this point, else the general engine.
#include "simulator/simulator.hpp"

#include <string>
#include <utility>

#include "core/error.hpp"
#include "network/congestion_unaware.hpp"
#include "simulator/general_simulation.hpp"
#include "simulator/lockstep_simulation.hpp"
#include "simulator/recorder.hpp"
#include "simulator/symmetry.hpp"

namespace dse::simulator {

namespace {

void check_fit(const workload::Workload& workload, const SystemConfig& config, std::uint32_t npus) {
    if (workload.rank_count() != npus) {
        throw InputError("the workload has " + std::to_string(workload.rank_count()) +
                         " ranks, but the network has " + std::to_string(npus) + " NPUs");
    }
    for (const Derating& derating : config.deratings) {
        if (derating.npu < npus) continue;
        throw InputError("deratings: npu is " + std::to_string(derating.npu) + ", but the network has " +
                         std::to_string(npus) + " NPUs");
    }
    for (const workload::Trace& trace : *workload.traces) {
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

SimulationResult run(const workload::Workload& workload, const SystemConfig& config, Method method,
                     Recorder* recorder) {
    check(config);
    const network::CongestionUnaware network(config.network);
    check_fit(workload, config, network.address().npus());
    SimulationResult result;
    if (method == Method::kAssumeSymmetry) {
        result =
            simulate_classes(workload, config, network, assume_rank_classes(workload, network), recorder);
        result.by_classes = true;
    } else {
        try {
            if (method == Method::kGeneral) throw NotSymmetric("the general engine was asked for");
            result = simulate_classes(workload, config, network, find_rank_classes(workload, config, network),
                                      recorder);
            result.by_classes = true;
        } catch (const NotSymmetric& obstacle) {
            result = simulate_every_rank(workload, config, network, recorder);
            result.obstacle = obstacle.what();
        }
    }
    merge_equal_classes(workload, result);
    return result;
}

}  // namespace

SimulationResult simulate(const workload::Workload& workload, const SystemConfig& config, Method method) {
    return run(workload, config, method, nullptr);
}

Recording record(const workload::Workload& workload, const SystemConfig& config, Method method,
                 RecordingRequest request) {
    Recorder recorder(workload, config, std::move(request));
    SimulationResult result = run(workload, config, method, &recorder);
    Recording recording = recorder.release();
    recording.result = std::move(result);
    return recording;
}

}  // namespace dse::simulator
