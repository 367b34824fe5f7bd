// The least step of the last stages of a pipeline, for what stands before them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/steps/options.hpp"

namespace dse::planner::steps {

/// Types in the order of the pipeline; a stage is of the type of the stage before, or of a later one.
using TypeOrder = std::vector<std::uint32_t>;

/// For suffixes of so many stages that begin at a layer: the least time from the first pass that reaches them
/// to the end of the step, where a type has so many GPUs left.
///
/// A stage that begins after all before it have passed one micro-batch on works for all micro-batches and
/// updates its weights; the longest of these times, over stages, bounds the step from below. Adding a stage
/// in front shifts the others by its time, so one number describes a suffix.
class SuffixTable {
public:
    SuffixTable(const Question& question, const Ranges& ranges, const Options& options,
                const TypeOrder& order, std::int64_t most_stages, double incumbent_s,
                const std::function<bool()>& stop);

    /// The least bound on all pipelines of at least two stages; infinite where none is below the incumbent.
    double least_s() const;
    bool is_stopped() const { return is_stopped_; }
    /// Pipelines of the least bound, one for each number of stages.
    std::vector<MixedPlan> plans() const;
    /// The least of suffixes of `stages` from `layer` on; they may use `gpus` of the type at `place` in the
    /// order, and all GPUs of later types.
    double after_s(std::int64_t stages, std::size_t place, std::int64_t gpus, std::int64_t layer) const;
    /// The least that a micro-batch takes to pass such suffixes, forward and backward.
    double pass_s(std::int64_t stages, std::size_t place, std::int64_t gpus, std::int64_t layer) const;
    std::int64_t stages() const { return static_cast<std::int64_t>(rows_.size()) - 1; }
    std::uint64_t labels() const { return labels_; }

private:
    struct State {
        double bound_s = step::kInfinite;
        double pass_s = step::kInfinite;  ///< the least of any suffix, perhaps another
        std::uint32_t before = 0;         ///< the state of one stage less
        std::uint32_t option = 0;
        std::int16_t layers = 0, group = 0;
    };
    std::size_t at(std::size_t place, std::int64_t units, std::int64_t layer) const {
        return offsets_[place] + static_cast<std::size_t>(units * (layers_ + 1) + layer);
    }
    void extend(std::int64_t stages, std::size_t place, std::int64_t units, std::int64_t layer,
                double incumbent_s);

    const Question& question_;
    const Ranges& ranges_;
    const Options& options_;
    const TypeOrder& order_;
    std::int64_t layers_;
    std::vector<std::int64_t> unit_gpus_, units_;  // by place in the order
    std::vector<std::size_t> offsets_;
    std::vector<std::vector<State>> rows_;  // by stages
    struct Least {
        double bound_s = step::kInfinite, pass_s = step::kInfinite;
    };
    std::vector<std::vector<Least>> least_;  // the same, over at most so many units or later types
    std::uint64_t labels_ = 0;
    bool is_stopped_ = false;
};

}  // namespace dse::planner::steps
