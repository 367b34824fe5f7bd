// Checks, then the fast way if it is proven for this point, else the general engine.
#include "simulator/simulator.hpp"

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/pool.hpp"
#include "network/congestion_unaware.hpp"
#include "simulator/general_simulation.hpp"
#include "simulator/lockstep_simulation.hpp"
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

/// Gathers classes with equal traces and figures, in order of their lowest rank.
void merge_equal_classes(const workload::Workload& workload, SimulationResult& result) {
    std::unordered_multimap<std::uint64_t, std::uint32_t> merged_by_time;
    std::vector<RankResult> merged;
    std::vector<std::uint32_t> trace_of_merged;
    std::vector<std::uint32_t> merged_of_class(result.classes.size(), kNil);
    for (std::uint32_t rank = 0; rank < result.class_of_rank.size(); ++rank) {
        std::uint32_t& place = merged_of_class[result.class_of_rank[rank]];
        if (place == kNil) {
            const RankResult& figures = result.classes[result.class_of_rank[rank]];
            const auto [first, last] = merged_by_time.equal_range(figures.finish_ns);
            for (auto it = first; it != last && place == kNil; ++it) {
                const bool same_trace = trace_of_merged[it->second] == workload.trace_of_rank[rank];
                if (same_trace && merged[it->second] == figures) place = it->second;
            }
            if (place == kNil) {
                place = static_cast<std::uint32_t>(merged.size());
                merged.push_back(figures);
                trace_of_merged.push_back(workload.trace_of_rank[rank]);
                merged_by_time.emplace(figures.finish_ns, place);
            }
        }
        result.class_of_rank[rank] = place;
    }
    result.classes = std::move(merged);
}

}  // namespace

SimulationResult simulate(const workload::Workload& workload, const SystemConfig& config, Method method) {
    check(config);
    const network::CongestionUnaware network(config.network);
    check_fit(workload, config, network.address().npus());
    SimulationResult result;
    if (method == Method::kAssumeSymmetry) {
        result = simulate_classes(workload, config, network, assume_rank_classes(workload, network));
        result.by_classes = true;
    } else {
        try {
            if (method == Method::kGeneral) throw NotSymmetric("the general engine was asked for");
            result =
                simulate_classes(workload, config, network, find_rank_classes(workload, config, network));
            result.by_classes = true;
        } catch (const NotSymmetric& obstacle) {
            result = simulate_every_rank(workload, config, network);
            result.obstacle = obstacle.what();
        }
    }
    merge_equal_classes(workload, result);
    return result;
}

}  // namespace dse::simulator
