// Better plans near good ones.
#pragma once

#include <functional>

#include "planner/steps/neighbours.hpp"
#include "planner/steps/ranking.hpp"

namespace dse::planner::steps {

/// Changes plans while that makes their steps shorter; `priced` counts the plans that it prices.
class Climb {
public:
    Climb(const Question& question, Ways& ways, Ranking& ranking, const std::function<bool()>& stop,
          std::uint64_t& priced)
        : question_(question),
          ways_(ways),
          ranking_(ranking),
          stop_(stop),
          priced_(priced),
          neighbours_(question) {}

    /// Takes the first better neighbour, and goes on after it, until there is none or `most` are priced.
    void from(FoundPlan at, std::uint64_t most);

private:
    FoundPlan price_of(const MixedPlan& plan);
    /// Moves layers from the slowest stage to the one that ends the soonest with one more, while steps fall.
    FoundPlan balanced(const MixedPlan& plan, double enough_s);

    const Question& question_;
    Ways& ways_;
    Ranking& ranking_;
    const std::function<bool()>& stop_;
    std::uint64_t& priced_;
    Neighbours neighbours_;
};

}  // namespace dse::planner::steps
