#include "planner/steps/least.hpp"

#include <algorithm>

#include "planner/steps/options.hpp"

namespace dse::planner::steps {

namespace {

/// The plan without its way to hold updates, which passes do not depend on.
step::Plan in_passes(step::Plan plan) {
    if (!plan.is_weight_sharded) plan.zero_stage = plan.zero = 0;
    return plan;
}

}  // namespace

LeastSteps::LeastSteps(const Question& question, Ways& ways) : question_(question), ways_(ways) {
    for (const std::vector<step::Plan>& modes : question.modes) {
        std::vector<step::Plan> plans;
        auto& same = same_.emplace_back();
        for (const step::Plan& mode : modes) {
            plans.push_back(in_passes(mode));
            const auto first = std::find(plans.begin(), plans.end(), plans.back());
            same.push_back(static_cast<std::uint32_t>(first - plans.begin()));
        }
    }
}

LeastSteps::Work LeastSteps::work_of(std::uint32_t type, const Family& family, const Rounds& rounds) {
    Work least(question_.model->kinds.size(), step::kInfinite);
    for (const std::int64_t gpus : group_sizes(question_, type, family)) {
        each_choice(question_, type, gpus, family, [&](const StageChoice& choice) {
            // A mode that hides exchanges suits a stage alone.
            const bool is_pipelined = !question_.modes[type][choice.mode].overlap_ep;
            if (!Ways::is_possible(question_, choice, rounds, is_pipelined)) return;
            Work& own = known_[{type, same_[type][choice.mode], gpus, rounds}];
            if (own.empty()) {
                Way* way = ways_.find(choice, rounds, is_pipelined);
                if (way == nullptr) return;
                own = work_of(rounds, *way);
            }
            std::transform(own.begin(), own.end(), least.begin(), least.begin(),
                           [](double one, double other) { return std::min(one, other); });
        });
    }
    return least;
}

LeastSteps::Work LeastSteps::work_of(const Rounds& rounds, Way& way) const {
    Work found(question_.model->kinds.size(), step::kInfinite);
    for (std::uint32_t kind = 0; kind < found.size(); ++kind) {
        if (question_.model->kinds[kind].is_prediction) continue;
        step::Chunk one{{{kind, 1}}, false, false, 0};
        if (way.plan().recompute != step::Recompute::kNone) one.repeated = 1;
        found[kind] = way.passes_s(one) * static_cast<double>(rounds.count * way.gpus());
    }
    return found;
}

double LeastSteps::of(const Family& family, const Rounds& rounds) {
    std::vector<Work> work;  // by type
    for (std::uint32_t type = 0; type < question_.types.size(); ++type) {
        work.push_back(work_of(type, family, rounds));
    }
    const auto finite = [](const Work& own) {
        return std::any_of(own.begin(), own.end(), [](double each) { return each < step::kInfinite; });
    };
    // GPUs of a type are at most as fast, in those of a reference type, as at their best kind of layer.
    const auto reference = std::find_if(work.begin(), work.end(), finite);
    if (reference == work.end()) return step::kInfinite;
    double speed = 0.0, seconds = 0.0;
    for (std::size_t type = 0; type < work.size(); ++type) {
        double fastest = 0.0;
        for (std::size_t kind = 0; kind < work[type].size(); ++kind) {
            if (work[type][kind] == step::kInfinite) continue;
            fastest = std::max(fastest, (*reference)[kind] / work[type][kind]);
        }
        speed += static_cast<double>(question_.types[type].gpus) * fastest;
    }
    for (const step::Run& run : question_.model->runs) {
        if (question_.model->kinds[run.kind].is_prediction) continue;
        seconds += static_cast<double>(run.count) * (*reference)[run.kind];
    }
    return seconds / speed;
}

}  // namespace dse::planner::steps
