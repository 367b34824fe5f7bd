// Stage times of a plan, and groups near it.
#include "planner/exact/near.hpp"

#include <algorithm>

namespace dse::planner::exact {

std::pair<double, double> longest_of(const Problem& problem, const FoundPlan& plan, StageOptions& options) {
    double period_ms = 0;
    double tail_ms = 0;
    std::uint32_t start = 0;
    std::uint32_t layer = 0;
    for (std::size_t i = 0; i < plan.stages.size(); ++i) {
        const PlanStage& stage = plan.stages[i];
        const bool last = i + 1 == plan.stages.size();
        for (const StageOption& way : options.at(start, stage.gpus)) {
            if (way.tp != stage.tp) continue;
            const std::size_t at = std::size_t{layer} * (problem.layers() + 1) + stage.end;
            double ms = way.table->execution_ms[at];
            if (!last) ms += way.link_ms(log2_of(plan.stages[i + 1].gpus), stage.end + 1 == problem.layers());
            period_ms = std::max(period_ms, ms);
            tail_ms = std::max(tail_ms, way.table->tail_ms(at));
        }
        start += stage.gpus;
        layer = stage.end;
    }
    return {period_ms, tail_ms};
}

std::set<std::pair<std::uint32_t, std::uint32_t>> groups_near(const FoundPlan& plan) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> groups;
    std::uint32_t start = 0;
    for (const PlanStage& stage : plan.stages) {
        for (std::uint32_t part = stage.gpus; part > 0 && 4 * part >= stage.gpus; part /= 2)
            for (std::uint32_t from = start; from < start + stage.gpus; from += part)
                groups.insert({from, part});
        for (const std::uint32_t times : {2U, 4U}) {
            const std::uint32_t size = times * stage.gpus;
            groups.insert({start / size * size, size});
        }
        start += stage.gpus;
    }
    return groups;
}

}  // namespace dse::planner::exact
