#include "partition/heuristics/population.hpp"

#include <algorithm>
#include <utility>

namespace dse::partition {

namespace {

bool keeps_sharding(const Problem& problem, const Labels& labels) {
    if (problem.objective != Objective::kShardingCost) return true;
    std::vector<bool> used(problem.devices, false);
    for (const std::int32_t label : labels) used[static_cast<std::size_t>(label)] = true;
    return std::find(used.begin(), used.end(), false) == used.end();
}

bool keeps_pins(const Problem& problem, const Labels& labels) {
    for (std::size_t v = 0; v < problem.nodes; ++v)
        if (problem.pinned[v] >= 0 && labels[v] != problem.pinned[v]) return false;
    return true;
}

}  // namespace

void keep_best(const Problem& problem, std::vector<Member>& population, SearchResult& result) {
    for (Member& member : population) {
        if (!member.feasible || member.cost >= result.cost || !keeps_pins(problem, member.labels)) continue;
        if (!keeps_sharding(problem, member.labels)) continue;
        result.cost = member.cost;
        result.labels = std::move(member.labels);
    }
}

}  // namespace dse::partition
