// Plans into columns.
#include "planner/walk/emitted_plan.hpp"

namespace dse::planner {

void PlanTable::append(const EmittedPlan& plan) {
    index.push_back(plan.index);
    batches.push_back(plan.batches);
    delta.push_back(plan.delta);
    sequence.push_back(plan.sequence);
    costed.push_back(plan.costed);
    attempt.push_back(plan.attempt);
    cost_ms.push_back(plan.cost_ms);
    gap_ms.push_back(plan.gap_ms);
    for (std::size_t i = 0; i < plan.log2_groups.size(); ++i) {
        group.push_back(1U << plan.log2_groups[i]);
        tp.push_back(1U << plan.log2_tp[i]);
        end.push_back(plan.bounds[i + 1]);
        const StageTerms terms = i < plan.stages.size() ? plan.stages[i] : StageTerms{};
        execution_ms.push_back(terms.execution_ms);
        link_ms.push_back(terms.link_ms);
        reduction_ms.push_back(terms.reduction_ms);
        update_ms.push_back(terms.update_ms);
    }
    stage_begin.push_back(group.size());
}

}  // namespace dse::planner
