// Every plan of a space, one after the other: the search is compared with it.
#include "planner/steps/options.hpp"
#include "planner/steps/search.hpp"

namespace dse::planner::steps {

namespace {

struct Walk {
    const Question& question;
    const std::function<void(const MixedPlan&)>& visit;
    std::int64_t layers;
    MixedPlan plan;
    std::vector<std::int64_t> left;

    /// Whether a stage may follow the first, where all have one kind and as many GPUs.
    bool is_alike(std::uint32_t type, std::uint32_t mode, std::int64_t gpus) const {
        if (question.kinds.empty() || plan.stages.empty()) return true;
        const StageChoice& first = plan.stages.front();
        const step::Plan& own = question.modes[first.type][first.mode];
        return question.kinds[first.type][first.mode] == question.kinds[type][mode] &&
               first.dp * own.tp * own.cp == gpus;
    }

    void go(const std::vector<std::uint32_t>& closed, std::int64_t layer) {
        if (layer == layers) {
            visit(plan);
            return;
        }
        for (std::uint32_t type = 0; type < question.types.size(); ++type) {
            bool is_closed = false;
            for (const std::uint32_t each : closed) is_closed = is_closed || each == type;
            if (is_closed) continue;
            std::vector<std::uint32_t> before = closed;
            if (!plan.stages.empty() && plan.stages.back().type != type) {
                before.push_back(plan.stages.back().type);
            }
            for (const std::int64_t gpus : group_sizes(question.types[type])) {
                if (gpus > left[type]) continue;
                left[type] -= gpus;
                for (std::uint32_t mode = 0; mode < question.modes[type].size(); ++mode) {
                    const step::Plan& own = question.modes[type][mode];
                    if (gpus % (own.tp * own.cp) != 0 || !is_alike(type, mode, gpus)) continue;
                    for (std::int64_t count = 1; layer + count <= layers; ++count) {
                        plan.stages.push_back({type, mode, gpus / (own.tp * own.cp), count});
                        go(before, layer + count);
                        plan.stages.pop_back();
                    }
                }
                left[type] += gpus;
            }
        }
    }
};

}  // namespace

void for_each_plan(const Question& question, const std::function<void(const MixedPlan&)>& visit) {
    Walk walk{question, visit, question.layers(), {}, {}};
    for (const GpuType& type : question.types) walk.left.push_back(type.gpus);
    for (const Rounds& rounds : rounds_of(question)) {
        walk.plan.rounds = rounds;
        walk.go({}, 0);
    }
}

}  // namespace dse::planner::steps
