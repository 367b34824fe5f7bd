// The fastest plans of a search.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "planner/steps/search.hpp"

namespace dse::planner::steps {

inline constexpr double kLeastGain = 1 - 1e-9;  ///< of a plan that is faster than another

/// The fastest plan of each list of types and number of micro-batches.
class Ranking {
public:
    explicit Ranking(double incumbent_s) : best_s_(incumbent_s) {}

    void add(double step_s, const MixedPlan& plan) {
        Key key{{}, plan.rounds, plan.stages.size()};
        for (const StageChoice& stage : plan.stages) {
            if (key.types.empty() || key.types.back() != stage.type) key.types.push_back(stage.type);
        }
        const auto [known, is_new] = plans_.try_emplace(key, FoundPlan{step_s, plan});
        if (!is_new && step_s < known->second.step_s) known->second = {step_s, plan};
        best_s_ = std::min(best_s_, step_s);
    }
    double best_s() const { return best_s_; }
    std::vector<FoundPlan> fastest(std::size_t keep) const {
        std::vector<FoundPlan> found;
        for (const auto& [key, plan] : plans_) found.push_back(plan);
        std::stable_sort(found.begin(), found.end(), [](const FoundPlan& one, const FoundPlan& other) {
            return one.step_s < other.step_s;
        });
        found.resize(std::min(found.size(), keep));
        return found;
    }

private:
    struct Key {
        std::vector<std::uint32_t> types;
        Rounds rounds;
        std::size_t stages;
        auto operator<=>(const Key&) const = default;
    };
    std::map<Key, FoundPlan> plans_;
    double best_s_;
};

}  // namespace dse::planner::steps
