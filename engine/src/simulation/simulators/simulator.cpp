// Checks, then the fast way if it is proven for this point, else the general engine.
#include "simulation/simulators/simulator.hpp"

#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "simulation/networks/congestion_unaware.hpp"
#include "simulation/simulators/general_simulation.hpp"
#include "simulation/simulators/issue_plan.hpp"
#include "simulation/simulators/lockstep_simulation.hpp"
#include "simulation/simulators/recorder.hpp"
#include "simulation/simulators/symmetry.hpp"

namespace dse::simulator {

namespace {

/// Throws InputError where a reference does not run, or reads otherwise, what a workload has.
void check_reference(const workload::Workload& workload, const SystemConfig& config) {
    const workload::Reference& reference = *config.reference;
    const std::string name(reference.name);
    if (workload.read_as != nullptr && workload.read_as != &reference) {
        throw InputError("the traces were read as " + std::string(workload.read_as->name) +
                         " reads them; they have attributes that " + name + " reads otherwise");
    }
    if (reference.groups_have_numbers && !workload.unnumbered_group.empty()) {
        throw InputError("group '" + workload.unnumbered_group +
                         "': names of groups must be integers from 1 " + "to 2147483647; " + name +
                         " stops at others");
    }
    for (const workload::Communicator& communicator : workload.communicators) {
        const bool unlisted = communicator.members.empty() && !communicator.by_dimension;
        if (!unlisted || config.network.size() <= reference.most_dimensions_unlisted) continue;
        throw InputError("a collective has no group and no " + std::string(reference.dimensions_attribute) +
                         ", but the network has " + std::to_string(config.network.size()) + " dimensions; " +
                         name + " knows " + std::to_string(reference.most_dimensions_unlisted) +
                         " then: give it a group of all NPUs");
    }
}

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
    std::uint64_t typed = 0;
    for (const NpuType& type : config.npu_types) typed += type.npus;
    if (!config.npu_types.empty() && typed != npus) {
        throw InputError("npu_types have " + std::to_string(typed) + " NPUs, but the network has " +
                         std::to_string(npus));
    }
    for (const workload::Trace& trace : *workload.traces) {
        if (config.track_memory && !trace.untracked_reason.empty()) {
            throw InputError(trace.untracked_reason +
                             "; memory tracking needs it, or write system.track_local_memory=false (in "
                             "system.json: \"track-local-mem\": 0)");
        }
        if (config.roofline && !config.replay_only && !trace.no_roofline_reason.empty()) {
            throw InputError(trace.no_roofline_reason +
                             "; or write system.roofline_enabled=false (in "
                             "system.json: \"roofline-enabled\": 0)");
        }
        if (trace.least_dimension_entries < config.network.size()) {
            throw InputError("an " + std::string(config.reference->dimensions_attribute) + " list has " +
                             std::to_string(trace.least_dimension_entries) +
                             " entries, but the network has " + std::to_string(config.network.size()) +
                             " dimensions; it needs an entry for each");
        }
    }
}

SimulationResult run(const workload::Workload& workload, const SystemConfig& config, Method method,
                     Recorder* recorder, const Checkpoint& checkpoint) {
    check(config);
    const network::CongestionUnaware network(config.network, checkpoint);
    check_fit(workload, config, network.address().npus());
    check_reference(workload, config);
    const bool planned = needs_plan(workload, config);
    std::optional<IssuePlan> plan;
    const auto plan_if_needed = [&]() -> const IssuePlan* {
        if (planned && !plan) plan = plan_issue_order(workload, config, network, checkpoint);
        return plan ? &*plan : nullptr;
    };
    SimulationResult result;
    std::string obstacle;
    if (method == Method::kAssumeSymmetry) {
        result = simulate_classes(workload, config, network, assume_rank_classes(workload, network), recorder,
                                  nullptr, checkpoint);
        result.by_classes = true;
    } else {
        try {
            if (method == Method::kGeneral) throw NotSymmetric("the general engine was asked for");
            const RankClasses classes = find_rank_classes(workload, config, network, checkpoint);
            // One class per trace of a sound system: that run makes the plan, so it follows it.
            const bool makes_plan =
                classes.representative.size() == workload.traces->size() && config.has_equal_npus();
            result = simulate_classes(workload, config, network, classes, recorder,
                                      makes_plan ? nullptr : plan_if_needed(), checkpoint);
            result.by_classes = true;
        } catch (const NotSymmetric& why) {
            obstacle = why.what();
        } catch (const EndOfTimeError&) {
            obstacle = "a time beyond the clock";  // the general engine says which event is
        } catch (const SimulationError&) {
            obstacle = "an error";  // the general engine says which rank and node has it
        }
        if (!result.by_classes) {
            result = simulate_every_rank(workload, config, network, recorder, plan_if_needed(), checkpoint);
            result.obstacle = obstacle;
        }
    }
    merge_equal_classes(workload, result, checkpoint);
    return result;
}

}  // namespace

SimulationResult simulate(const workload::Workload& workload, const SystemConfig& config, Method method,
                          const Checkpoint& checkpoint) {
    return run(workload, config, method, nullptr, checkpoint);
}

Recording record(const workload::Workload& workload, const SystemConfig& config, Method method,
                 RecordingRequest request, const Checkpoint& checkpoint) {
    Recorder recorder(workload, config, std::move(request));
    SimulationResult result = run(workload, config, method, &recorder, checkpoint);
    Recording recording = recorder.release();
    recording.result = std::move(result);
    return recording;
}

}  // namespace dse::simulator
