// The steps of many workloads on one system, as columns.
#include "simulation/simulators/steps.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <stdexcept>

#include "base/error.hpp"

namespace dse::simulator {

namespace {

SimulationResult ended_or_not(const workload::Workload& workload, const SystemConfig& config, Method method,
                              const Checkpoint& checkpoint) {
    SimulationResult none;
    none.deadlock = true;
    try {
        return simulate(workload, config, method, checkpoint);
    } catch (const InputError&) {
        return none;
    } catch (const SimulationError&) {
        return none;
    } catch (const std::bad_alloc&) {
        return none;
    } catch (const std::length_error&) {
        return none;
    }
}

}  // namespace

void Steps::add(const SimulationResult& result) {
    ended.push_back(result.deadlock ? 0 : 1);
    std::size_t last = 0;
    std::uint64_t wall = 0, peak = 0;
    for (std::size_t i = 0; i < result.classes.size(); ++i) {
        const RankResult& each = result.classes[i];
        if (each.finish_ns > result.classes[last].finish_ns) last = i;
        wall = std::max(wall, each.wall_time_ns);
        peak = std::max(peak, each.peak_memory_bytes);
    }
    const bool none = result.deadlock || result.classes.empty();
    const RankResult figures = none ? RankResult{} : result.classes[last];
    const RankResult first = none ? RankResult{} : result.classes[result.class_of_rank[0]];
    const auto at = std::find(result.class_of_rank.begin(), result.class_of_rank.end(), last);
    wall_time_ns.push_back(static_cast<std::int64_t>(wall));
    peak_memory_bytes.push_back(static_cast<std::int64_t>(peak));
    last_rank.push_back(at - result.class_of_rank.begin());
    gpu_time_ns.push_back(static_cast<std::int64_t>(figures.gpu_time_ns));
    comm_time_ns.push_back(static_cast<std::int64_t>(figures.comm_time_ns));
    exposed_comm_ns.push_back(figures.exposed_comm_ns);
    compute_bound_pct.push_back(figures.compute_bound_pct);
    compute_utilization_pct.push_back(figures.compute_utilization_pct);
    memory_utilization_pct.push_back(figures.memory_utilization_pct);
    operation_intensity.push_back(figures.operation_intensity);
    rank0_wall_time_ns.push_back(static_cast<std::int64_t>(first.wall_time_ns));
    rank0_peak_memory_bytes.push_back(static_cast<std::int64_t>(first.peak_memory_bytes));
    rank_classes.push_back(static_cast<std::int64_t>(result.classes.size()));
}

Steps simulate_steps(std::span<const workload::Workload* const> workloads, const SystemConfig& config,
                     Method method, double most_s, const Checkpoint& checkpoint) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point began = Clock::now();
    Steps steps;
    for (const workload::Workload* const each : workloads) {
        if (steps.size() > 0 && std::chrono::duration<double>(Clock::now() - began).count() > most_s) break;
        checkpoint.look();
        steps.add(ended_or_not(*each, config, method, checkpoint));
    }
    return steps;
}

}  // namespace dse::simulator
