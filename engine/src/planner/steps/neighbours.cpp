#include "planner/steps/neighbours.hpp"

#include <algorithm>

namespace dse::planner::steps {

Neighbours::Neighbours(const Question& question) : question_(question), rounds_(rounds_of(question)) {
    for (const GpuType& type : question.types) sizes_.push_back(group_sizes(type));
}

std::vector<MixedPlan> Neighbours::of_layers(const MixedPlan& plan) const {
    std::vector<MixedPlan> found;
    for (std::size_t from = 0; from < plan.stages.size(); ++from) {
        for (std::size_t to = 0; to < plan.stages.size(); ++to) {
            if (from == to || plan.stages[from].layers < 2) continue;
            MixedPlan& moved = found.emplace_back(plan);
            --moved.stages[from].layers;
            ++moved.stages[to].layers;
        }
    }
    return found;
}

std::vector<MixedPlan> Neighbours::of_stages(const MixedPlan& plan) const {
    std::vector<MixedPlan> found;
    if (!question_.kinds.empty()) return found;
    add_rounds(plan, found);
    add_joined(plan, found);
    add_split(plan, found);
    add_swapped(plan, found);
    add_resized(plan, found);
    add_modes(plan, found);
    return found;
}

std::int64_t Neighbours::gpus(const StageChoice& stage) const {
    const step::Plan& mode = question_.modes[stage.type][stage.mode];
    return stage.dp * mode.tp * mode.cp;
}

bool Neighbours::has_size(std::uint32_t type, std::int64_t gpus) const {
    return std::binary_search(sizes_[type].begin(), sizes_[type].end(), gpus);
}

void Neighbours::add(const MixedPlan& plan, std::size_t first, std::size_t count,
                     const std::vector<StageChoice>& stages, std::vector<MixedPlan>& found) const {
    MixedPlan other{plan.rounds, {}};
    std::vector<std::int64_t> used(question_.types.size(), 0);
    for (std::size_t at = 0; at <= plan.stages.size(); ++at) {
        if (at == first) other.stages.insert(other.stages.end(), stages.begin(), stages.end());
        if (at < plan.stages.size() && (at < first || at >= first + count)) {
            other.stages.push_back(plan.stages[at]);
        }
    }
    for (const StageChoice& stage : other.stages) {
        used[stage.type] += gpus(stage);
        if (used[stage.type] > question_.types[stage.type].gpus || !has_size(stage.type, gpus(stage))) return;
    }
    found.push_back(std::move(other));
}

/// Two stages as one.
void Neighbours::add_joined(const MixedPlan& plan, std::vector<MixedPlan>& found) const {
    for (std::size_t at = 0; at + 1 < plan.stages.size(); ++at) {
        const StageChoice &one = plan.stages[at], &other = plan.stages[at + 1];
        if (one.type != other.type) continue;
        for (StageChoice joined : {one, other}) {
            const std::int64_t replica = gpus(joined) / joined.dp, both = gpus(one) + gpus(other);
            if (both % replica != 0) continue;
            joined.dp = both / replica;
            joined.layers = one.layers + other.layers;
            add(plan, at, 2, {joined}, found);
            if (one.mode == other.mode) break;
        }
    }
}

/// Both halves of a stage.
void Neighbours::add_split(const MixedPlan& plan, std::vector<MixedPlan>& found) const {
    for (std::size_t at = 0; at < plan.stages.size(); ++at) {
        StageChoice half = plan.stages[at];
        if (half.dp % 2 != 0 || half.layers < 2) continue;
        half.dp /= 2;
        half.layers /= 2;
        StageChoice rest = half;
        rest.layers = plan.stages[at].layers - half.layers;
        add(plan, at, 1, {rest, half}, found);
    }
}

/// A stage of the next smaller or greater number of GPUs that its replicas fill, or of those that are idle.
void Neighbours::add_resized(const MixedPlan& plan, std::vector<MixedPlan>& found) const {
    for (std::size_t at = 0; at < plan.stages.size(); ++at) {
        const StageChoice& own = plan.stages[at];
        const std::int64_t replica = gpus(own) / own.dp;
        for (const std::int64_t size : sizes_[own.type]) {
            if (size % replica != 0 || size == gpus(own)) continue;
            StageChoice other = own;
            other.dp = size / replica;
            add(plan, at, 1, {other}, found);
        }
    }
}

/// Two stages of a type, or all stages of two types, in each other's place.
void Neighbours::add_swapped(const MixedPlan& plan, std::vector<MixedPlan>& found) const {
    const std::vector<StageChoice>& stages = plan.stages;
    std::vector<std::size_t> begins;
    for (std::size_t at = 0; at < stages.size(); ++at) {
        if (at == 0 || stages[at].type != stages[at - 1].type) begins.push_back(at);
        if (at != 0 && stages[at].type == stages[at - 1].type && stages[at] != stages[at - 1]) {
            add(plan, at - 1, 2, {stages[at], stages[at - 1]}, found);
        }
    }
    begins.push_back(stages.size());
    for (std::size_t one = 0; one + 2 < begins.size(); ++one) {
        for (std::size_t other = one + 1; other + 1 < begins.size(); ++other) {
            std::vector<StageChoice> swapped;
            const auto take = [&](std::size_t from, std::size_t to) {
                for (std::size_t at = from; at < to; ++at) swapped.push_back(stages[at]);
            };
            take(begins[other], begins[other + 1]);
            take(begins[one + 1], begins[other]);
            take(begins[one], begins[one + 1]);
            add(plan, begins[one], swapped.size(), swapped, found);
        }
    }
}

/// Another mode of a stage on its GPUs.
void Neighbours::add_modes(const MixedPlan& plan, std::vector<MixedPlan>& found) const {
    for (std::size_t at = 0; at < plan.stages.size(); ++at) {
        const StageChoice& own = plan.stages[at];
        each_choice(question_, own.type, gpus(own), Family{}, [&](StageChoice other) {
            if (other.mode == own.mode) return;
            other.layers = own.layers;
            MixedPlan& changed = found.emplace_back(plan);
            changed.stages[at] = other;
        });
    }
}

/// Other rounds of the same stages.
void Neighbours::add_rounds(const MixedPlan& plan, std::vector<MixedPlan>& found) const {
    for (const Rounds& rounds : rounds_) {
        if (rounds == plan.rounds) continue;
        found.push_back({rounds, plan.stages});
    }
}

}  // namespace dse::planner::steps
