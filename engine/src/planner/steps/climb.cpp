#include "planner/steps/climb.hpp"

namespace dse::planner::steps {

namespace {

constexpr int kMoves = 8;  // of layers, until a changed plan is judged

}  // namespace

void Climb::from(FoundPlan at, std::uint64_t most) {
    most += priced_;
    for (std::size_t begin = 0; priced_ < most && !stop_();) {
        const std::vector<MixedPlan> layers = neighbours_.of_layers(at.plan),
                                     stages = neighbours_.of_stages(at.plan);
        const std::size_t count = layers.size() + stages.size();
        std::size_t tried = 0;
        for (; tried < count && priced_ < most; ++tried) {
            const std::size_t place = (begin + tried) % count;
            const bool is_moved = place < layers.size();
            const FoundPlan found =
                is_moved ? price_of(layers[place]) : balanced(stages[place - layers.size()], at.step_s);
            if (found.step_s >= at.step_s * kLeastGain) continue;
            at = found;
            ranking_.add(at.step_s, at.plan);
            begin = place + 1;
            break;
        }
        if (tried == count) return;
    }
}

FoundPlan Climb::price_of(const MixedPlan& plan) {
    ++priced_;
    const auto found = price(question_, ways_, plan);
    return {found ? found->step_s : step::kInfinite, plan};
}

FoundPlan Climb::balanced(const MixedPlan& plan, double enough_s) {
    FoundPlan best{step::kInfinite, plan};
    MixedPlan next = plan;
    for (int move = 0; move < kMoves; ++move) {
        ++priced_;
        const auto found = price(question_, ways_, next);
        if (!found || found->step_s >= best.step_s) break;
        best = {found->step_s, next};
        if (best.step_s < enough_s * kLeastGain) break;
        std::size_t slow = 0, fast = 0;
        const auto with_s = [&](std::size_t stage, std::int64_t more) {
            const auto layers = static_cast<double>(next.stages[stage].layers);
            return found->stages[stage].figures.both_s() * (layers + static_cast<double>(more)) / layers;
        };
        for (std::size_t stage = 1; stage < next.stages.size(); ++stage) {
            if (with_s(stage, 0) > with_s(slow, 0)) slow = stage;
            if (with_s(stage, 1) < with_s(fast, 1)) fast = stage;
        }
        if (slow == fast || next.stages[slow].layers < 2) break;
        --next.stages[slow].layers;
        ++next.stages[fast].layers;
    }
    return best;
}

}  // namespace dse::planner::steps
