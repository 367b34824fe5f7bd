// Execution, gap, links, gradient reduction and update of the costed stages of a plan.
#include "planner/walk/compat_cost.hpp"

#include <algorithm>
#include <limits>

namespace dse::planner {

namespace {

constexpr double kUnitsPerMs = 1048576;  // of a GB/s

/// B times the largest gap of the stage's types; false: some type has none, or it is 0.
bool set_gap(const Problem& problem, const WalkStage& stage, const StageChoice& choice, EmittedPlan& plan) {
    double largest = -std::numeric_limits<double>::infinity();
    for (const std::uint32_t type : stage.ranks->types) {
        const std::int32_t entry = problem.profiles.find(type, choice.log2_tp, choice.micro_batch);
        if (entry == kMissing) return false;
        const double gap = problem.profiles.times[static_cast<std::size_t>(entry)].gap_ms;
        if (gap == 0) return false;
        largest = std::max(largest, gap);
    }
    plan.gap_ms = static_cast<double>(plan.batches) * largest;
    return true;
}

/// Elements that a stage sends on: logits if only the last layer follows, else hidden states.
double activation(const Problem& problem, const StageChoice& choice, std::uint32_t end) {
    const Model& model = problem.model;
    const double tokens = static_cast<double>(choice.micro_batch) * static_cast<double>(model.sequence);
    if (end + 1 == problem.layers())
        return tokens * static_cast<double>(model.vocabulary) / static_cast<double>(1U << choice.log2_tp);
    return tokens * static_cast<double>(model.hidden);
}

/// Parameters of a stage in bytes; less than nothing for some empty stages.
double parameters(const Problem& problem, double tp, std::uint32_t begin, std::uint32_t end) {
    const std::vector<double>& of_layers = problem.model.parameters_bytes;
    double bytes = 0;
    auto middle = static_cast<std::int64_t>(end) - static_cast<std::int64_t>(begin);
    if (begin == 0) {
        bytes += of_layers.front() / tp;
        --middle;
    }
    if (end == problem.layers()) {
        bytes += of_layers.back() / tp;
        --middle;
    }
    return bytes + of_layers[1] / tp * static_cast<double>(middle);
}

StageTerms terms_of(const Problem& problem, const Sequence& sequence, const WalkStage& stage,
                    const StageChoice& choice, std::uint32_t begin, std::uint32_t end) {
    const auto tp = static_cast<double>(1U << choice.log2_tp);
    const auto dp = static_cast<double>(1U << choice.log2_dp);
    StageTerms terms;
    terms.execution_ms = ChoiceTable::execution_ms(choice, begin, end);
    const double units = sequence.reduction_gbps(*stage.ranks, choice.log2_dp) * kUnitsPerMs;
    terms.reduction_ms = 2 * (dp - 1) / (dp * units) * parameters(problem, tp, begin, end);
    terms.update_ms = 2 * problem.model.optimizer_ms / tp *
                      (static_cast<double>(end - begin) / static_cast<double>(problem.layers()));
    return terms;
}

double total(const Problem& problem, const EmittedPlan& plan) {
    double sum = 0, links = 0;
    StageTerms most = plan.stages.front();
    for (const StageTerms& stage : plan.stages) {
        sum += stage.execution_ms;
        links += stage.link_ms;
        most.execution_ms = std::max(most.execution_ms, stage.execution_ms);
        most.update_ms = std::max(most.update_ms, stage.update_ms);
        most.reduction_ms = std::max(most.reduction_ms, stage.reduction_ms);
    }
    const auto batches = static_cast<double>(plan.batches);
    const double pipeline = (batches - 1) * most.execution_ms + sum;
    return pipeline + plan.gap_ms + most.update_ms + most.reduction_ms + links +
           problem.model.batch_generator_ms * batches;
}

}  // namespace

bool price(const Problem& problem, const Sequence& sequence, std::span<const WalkStage> stages,
           EmittedPlan& plan) {
    const auto choice_of = [&](std::size_t i) -> const StageChoice& {
        return stages[i].choices[plan.log2_tp[i]];
    };
    plan.stages.clear();
    for (std::size_t i = 0; i < plan.costed; ++i) {
        const StageChoice& choice = choice_of(i);
        if (choice.beyond_batches) return false;
        plan.stages.push_back(
            terms_of(problem, sequence, stages[i], choice, plan.bounds[i], plan.bounds[i + 1]));
        if (i + 1 == plan.costed) continue;
        const double gbps = sequence.link_gbps(*stages[i].ranks, stages[i + 1].ranks->log2_gpus);
        plan.stages.back().link_ms = activation(problem, choice, plan.bounds[i + 1]) / (gbps * kUnitsPerMs);
    }
    const std::size_t last = plan.costed - 1;
    if (!set_gap(problem, stages[last], choice_of(last), plan)) return false;
    plan.cost_ms = total(problem, plan);
    return true;
}

}  // namespace dse::planner
