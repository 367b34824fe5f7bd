// The first bound on all plans with rounds of micro-batches.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "planner/steps/way.hpp"

namespace dse::planner::steps {

/// The least time of all micro-batches on all GPUs, however these share them.
class LeastSteps {
public:
    LeastSteps(const Question& question, Ways& ways);

    /// Infinite where no GPU can run any.
    double of(const Family& family, const Rounds& rounds);

private:
    using Work = std::vector<double>;  // seconds x GPUs, by kind of layer
    struct Key {
        std::uint32_t type, same;
        std::int64_t gpus;
        Rounds rounds;
        auto operator<=>(const Key&) const = default;
    };

    /// The least of each kind on GPUs of a type.
    Work work_of(std::uint32_t type, const Family& family, const Rounds& rounds);
    Work work_of(const Rounds& rounds, Way& way) const;

    const Question& question_;
    Ways& ways_;
    std::vector<std::vector<std::uint32_t>> same_;  // by type and mode: the first mode of the same passes
    std::map<Key, Work> known_;
};

}  // namespace dse::planner::steps
