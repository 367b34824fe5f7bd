// The ways to run a stage with so many micro-batches: their times and memory for all ranges of layers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/steps/way.hpp"

namespace dse::planner::steps {

/// Ranges of layers that hold the same layers at the same place (first, inside, last) are one class.
class Ranges {
public:
    explicit Ranges(const Question& question);

    struct Class {
        Part part;  ///< one of the class
    };
    const std::vector<Class>& classes() const { return classes_; }
    std::uint32_t of(std::int64_t first, std::int64_t end) const {
        return numbers_[static_cast<std::size_t>(first * (layers_ + 1) + end)];
    }
    std::int64_t layers() const { return layers_; }

private:
    std::int64_t layers_;
    std::vector<Class> classes_;
    std::vector<std::uint32_t> numbers_;
};

/// A stage of a class of ranges: its time, a bound on the step, and for how many micro-batches it has memory.
struct Cell {
    double pass_s = 0.0;  ///< for which other stages wait: both passes and their messages
    double step_s = 0.0;  ///< the least that a step takes after the first pass reaches this stage
    double forward_s = 0.0;
    std::int32_t most_in_flight = 0;
};

/// A way with its cells, by class.
struct Option {
    StageChoice choice;
    Way* way = nullptr;
    std::vector<Cell> cells;
};

/// Options of a type on so many GPUs, and the least of their cells.
struct Group {
    std::int64_t gpus = 0;
    std::vector<Option> options;
};

struct Best {
    double pass_s = step::kInfinite, step_s = step::kInfinite;
    double waiting_s =
        step::kInfinite;       ///< of `step_s` less the forward passes before the first backward one
    std::uint32_t option = 0;  ///< of the least `step_s`
};

/// All options with rounds of micro-batches.
class Options {
public:
    Options(const Question& question, const Ranges& ranges, Ways& ways, const Rounds& rounds,
            std::int64_t most_stages);

    const std::vector<Group>& groups(std::uint32_t type) const { return groups_[type]; }
    const Best& best(std::uint32_t type, std::size_t group, std::int64_t in_flight,
                     std::uint32_t klass) const {
        return best_[type][group][static_cast<std::size_t>(in_flight - 1) * classes_ + klass];
    }
    /// How fast GPUs of a type are at most, in those of a reference type.
    double speed(std::uint32_t type, std::int64_t gpus) const {
        return static_cast<double>(gpus) * speeds_[type];
    }
    /// The least time of the layers before `end` on GPUs of a speed, however they share them.
    double least_s(double of_gpus, std::int64_t end) const {
        return end == 0 ? 0.0 : work_[static_cast<std::size_t>(end)] / of_gpus;
    }
    /// The most layers, from the first on, that GPUs of a speed finish in less than a time.
    std::int64_t most_layers(double of_gpus, double seconds) const {
        const auto end = std::lower_bound(work_.begin(), work_.end(), seconds * of_gpus);
        return std::max<std::int64_t>(0, end - work_.begin() - 1);
    }
    const Rounds& rounds() const { return rounds_; }
    std::int64_t micro_batches() const { return rounds_.count; }
    std::int64_t most_in_flight() const { return most_in_flight_; }

private:
    Rounds rounds_;
    std::int64_t most_in_flight_;
    std::size_t classes_;
    std::vector<std::vector<Group>> groups_;
    std::vector<std::vector<std::vector<Best>>> best_;  // by type, group, and (in flight, class)
    std::vector<double> work_;    // of the layers before each, in seconds x GPUs of the reference type
    std::vector<double> speeds_;  // of a GPU of each type, at its best kind of layer
};

/// Rounds that divide the batch, and those of replicas that fill a type where at most an eighth of them is
/// idle.
std::vector<Rounds> rounds_of(const Question& question);

/// GPUs that a stage of a type may have: equal parts of a node, and whole nodes; at most 32 units.
std::vector<std::int64_t> group_sizes(const GpuType& type);

}  // namespace dse::planner::steps
