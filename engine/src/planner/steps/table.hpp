// The least step of the last stages of a pipeline, for what stands before them.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "planner/steps/options.hpp"

namespace dse::planner::steps {

/// Sets of types; a pipeline has stages of each type next to each other.
using TypeSet = std::uint32_t;

/// Where a pipeline is cut: the layer there, the type of the stage after the cut and its GPUs that the other
/// side has used, and the types that it has used besides.
struct Cut {
    TypeSet others = 0;
    std::uint32_t type = 0;
    std::int64_t units = 0, layer = 0;
};

/// An array over cuts; parts that no cut reaches take no memory.
template <typename T>
class ByCut {
public:
    ByCut(const Options& options, std::int64_t layers) : options_(&options), layers_(layers) {
        parts_.resize(options.types() << options.types());
    }
    T& operator[](const Cut& cut) {
        std::vector<T>& part = parts_[number(cut)];
        if (part.empty()) {
            part.resize(static_cast<std::size_t>((options_->units(cut.type) + 1) * (layers_ + 1)));
        }
        return part[place(cut)];
    }
    const T* find(const Cut& cut) const {
        const std::vector<T>& part = parts_[number(cut)];
        return part.empty() ? nullptr : &part[place(cut)];
    }
    /// Calls `visit(cut, value)` for all that are there.
    template <typename Visit>
    void each(const Visit& visit) const {
        for (std::size_t number = 0; number < parts_.size(); ++number) {
            const auto width = static_cast<std::size_t>(layers_ + 1);
            for (std::size_t i = 0; i < parts_[number].size(); ++i) {
                const Cut cut{static_cast<TypeSet>(number) & ((TypeSet{1} << options_->types()) - 1),
                              static_cast<std::uint32_t>(number >> options_->types()),
                              static_cast<std::int64_t>(i / width), static_cast<std::int64_t>(i % width)};
                visit(cut, parts_[number][i]);
            }
        }
    }

private:
    std::size_t number(const Cut& cut) const {
        return (static_cast<std::size_t>(cut.type) << options_->types()) + cut.others;
    }
    std::size_t place(const Cut& cut) const {
        return static_cast<std::size_t>(cut.units * (layers_ + 1) + cut.layer);
    }
    const Options* options_;
    std::int64_t layers_;
    std::vector<std::vector<T>> parts_;
};

/// Stages of a group with so many layers, by their number and end: the least times of each.
class StageTimes {
public:
    StageTimes(const Ranges& ranges, const Options& options, std::uint32_t type, std::size_t group,
               double target_s);

    std::int64_t units() const { return units_; }
    /// The most layers of a stage that alone ends its micro-batches before the target.
    std::int64_t most() const { return most_; }
    struct Row {
        const double *pass_s, *busy_s;  ///< by end; of one micro-batch, and of all
    };
    Row of(std::int64_t layers) const {
        const double* row = times_s_.data() + 2 * (layers - 1) * width_;
        return {row, row + width_};
    }

private:
    std::int64_t units_, width_, most_ = 0;
    std::vector<double> times_s_;
};

/// The least that a micro-batch takes to pass the stages before a cut, forward and backward, if the passes of
/// each stage and of those before it end before a target; infinite where GPUs do not suffice for the layers.
/// The end of the step follows the last pass of the first stage: reductions and updates of that count, too.
///
/// The types of a cut are here those that are left for these stages, its units those of its type. Stages
/// hold two micro-batches at least, for one stage follows; more would only take more memory.
class PrefixTable {
public:
    PrefixTable(const Ranges& ranges, const Options& options, double target_s);

    double pass_s(const Cut& left) const { return *passes_.find(left); }
    /// The last layer before which the stages can end, with what is left at a cut before any layer.
    std::int64_t last(const Cut& left) const { return *lasts_.find(left); }

private:
    void fill(const Options& options, const Cut& cut, double target_s);

    std::int64_t layers_;
    std::vector<std::vector<StageTimes>> stages_;  // by type and group
    ByCut<double> passes_;
    ByCut<std::int64_t> lasts_;
};

/// Grids of times, as shares of the least step. A coarse table merges choices, takes the last micro-batch to
/// return as fast as any, and knows the tail of the first stage alone.
struct Precision {
    double grid = 0.0, tail_grid = 0.0;
    bool is_coarse = false;
    std::size_t most_at_cut =
        std::numeric_limits<std::size_t>::max();  ///< suffixes; where some are dropped, nothing is bounded
};
/// The first finds good plans soon, the second good bounds, and the last decides.
inline constexpr std::array kPrecisions{Precision{1e-2, 1.0, true}, Precision{5e-4, 3e-2, false},
                                        Precision{1e-4, 2e-3, false}};
/// Few suffixes at each cut, of the least bounds and passes: good plans, and no bound.
inline constexpr Precision kBeam{1e-4, 2e-3, false, 4};
inline constexpr Precision kScout{1e-3, 1.0, false, 1};

/// Suffixes of so many stages for each cut: those that no other beats in each of their times.
///
/// A suffix has `bound_s`, the least time from the first pass that reaches it to the last that leaves it, and
/// `ends_s`, the same to the end of its reductions. `pass_s` and `last_s` are what the first and the last
/// micro-batch take to pass it forward and backward. `tail_s` is what its updates and the gathering of its
/// weights add. Each is the length of a chain of operations that wait for each other, so no step is shorter.
///
/// A stage in front adds both its passes to these chains, only its forward one to reductions; it hides that
/// much of the tail. A suffix with no greater time is no worse under any stages in front, so others go. Those
/// go, too, whose bound and the least passes before them reach the target. All times are rounded down to a
/// grid that the target does not change, so that suffixes become alike.
class SuffixTable {
public:
    SuffixTable(const Ranges& ranges, const Options& options, const Precision& precision,
                std::int64_t most_stages, double target_s, std::uint64_t most_labels,
                const std::function<bool()>& stop);

    /// The least bound on all pipelines of at least two stages; infinite where none is below the target.
    double least_s() const;
    bool is_stopped() const { return is_stopped_; }
    /// Pipelines of the least bound, one for each number of stages.
    std::vector<MixedPlan> plans() const;

    struct Least {
        double bound_s = step::kInfinite, pass_s = step::kInfinite;
    };
    /// The least of each of suffixes of `stages` that may use the `left` of a cut, and begin at its layer.
    Least after(std::int64_t stages, const Cut& left) const;
    /// Makes the tables that `after` asks.
    void index();
    std::int64_t stages() const { return static_cast<std::int64_t>(rows_.size()) - 1; }
    std::uint64_t labels() const { return labels_; }

private:
    struct Times {
        double bound_s = 0.0, ends_s = 0.0, pass_s = 0.0, last_s = 0.0, tail_s = 0.0;
        double first_s = 0.0;  ///< both passes of the first stage, the least of those that are alike
    };
    /// Times in steps of the grid, two in each word: a subtraction compares both.
    using Counts = std::array<std::uint64_t, 3>;
    struct Link {
        Cut next{};  ///< of the suffix without its first stage
        std::uint32_t label = 0, option = 0;
        std::int16_t layers = 0, group = 0;
    };
    /// The suffixes of a cut: many are compared, few are read.
    struct Labels {
        std::vector<Counts> counts;
        std::vector<double> firsts_s;
        std::vector<Link> links;
    };
    using Row = ByCut<std::unique_ptr<Labels>>;

    void extend(std::int64_t stages, const Cut& cut, const std::vector<Times>& after);
    void extend_by(std::int64_t stages, const Cut& cut, const std::vector<Times>& after, const Cut& before,
                   std::size_t group);
    static std::uint64_t down(double seconds, double grid_s) {
        return static_cast<std::uint64_t>(std::min(seconds / grid_s, 2147483647.0));  // of 31 bits
    }
    static double seconds(std::uint64_t count, double grid_s) {
        return static_cast<double>(static_cast<std::int64_t>(count)) * grid_s;
    }
    bool is_above(double time_s, double limit_s) const {
        return seconds(down(time_s, grid_s_), grid_s_) >= limit_s;
    }
    Counts counts_of(const Times& times) const;
    Times times_of(const Counts& counts) const;
    bool keep(Labels& labels, const Counts& counts, const Link& link, double first_s) const;

    const Ranges& ranges_;
    const Options& options_;
    Precision precision_;
    double grid_s_, tail_grid_s_;
    double target_s_;
    TypeSet all_;
    PrefixTable prefixes_;
    /// A whole pipeline, and the type of its first stage.
    struct Whole {
        double bound_s = step::kInfinite;
        std::uint32_t type = 0;
        Link link{};
    };
    std::vector<Row> rows_;            // by stages
    std::vector<Whole> wholes_;        // the least of each number of stages
    std::vector<ByCut<Least>> least_;  // over at most so many units
    std::uint64_t labels_ = 0;
    bool is_stopped_ = false, is_alive_ = false;
};

}  // namespace dse::planner::steps
