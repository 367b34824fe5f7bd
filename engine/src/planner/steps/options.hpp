// The ways to run a stage with so many micro-batches: their times and memory for all ranges of layers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "planner/steps/way.hpp"

namespace dse::planner::steps {

/// Ranges of layers that hold the same layers at the same place (first, inside, last) are one class.
class Ranges {
public:
    explicit Ranges(const Question& question);

    struct Class {
        step::Chunk chunk;        ///< of stages that keep all activations
        std::uint32_t shape = 0;  ///< the same for classes that differ in numbers of layers alone
    };
    const std::vector<Class>& classes() const { return classes_; }
    std::uint32_t of(std::int64_t first, std::int64_t end) const {
        return numbers_[static_cast<std::size_t>(first * (layers_ + 1) + end)];
    }
    std::int64_t layers() const { return layers_; }
    std::size_t shapes() const { return shapes_; }

private:
    std::int64_t layers_;
    std::size_t shapes_ = 0;
    std::vector<Class> classes_;
    std::vector<std::uint32_t> numbers_;
};

/// A stage of a class of ranges, and for how many micro-batches it has memory.
struct Cell {
    double forward_s = 0.0, backward_s = 0.0;
    double exposed_s = 0.0;  ///< the least that its gradients take after its last backward pass
    double tail_s = 0.0;     ///< updates, and the gathering that no pass of stages before hides
    std::int32_t most_in_flight = 0;

    double both_s() const { return forward_s + backward_s; }
};

/// A way with its cells, by class, and messages: to a next stage of each type, and by level to one alike.
struct Option {
    StageChoice choice;
    Way* way = nullptr;
    std::vector<Cell> cells;
    std::vector<double> sends_s;
    std::vector<double> least_sends_s;  ///< by level of stages
};

/// A cell of an option that no other of its group beats in all its times and in memory.
struct Choice {
    Cell cell;
    std::uint32_t option = 0;
    const double* sends_s = nullptr;  ///< of its option
};

/// Options of a type on so many GPUs.
struct Group {
    std::int64_t gpus = 0;
    std::vector<Option> options;
    std::vector<std::vector<Choice>> choices;  ///< by class
    std::vector<std::vector<Choice>> merged;   ///< those of almost equal passes are one with the best of each
};

/// The least times of a stage that is not the last, if at least two micro-batches are in flight where there
/// are two.
struct Best {
    double both_s = step::kInfinite;
    double pass_s = step::kInfinite;  ///< with messages; of a first stage, with all after its last pass
};

/// All options with rounds of micro-batches.
class Options {
public:
    /// `least_s` is that of `LeastSteps`; where `stop` ends the work, options are missing.
    Options(const Question& question, const Ranges& ranges, Ways& ways, const Family& family,
            const Rounds& rounds, std::int64_t most_stages, double least_s,
            const std::function<bool()>& stop);

    std::size_t types() const { return groups_.size(); }
    /// GPUs of a type are counted in units, of which all its groups are multiples.
    std::int64_t unit_gpus(std::uint32_t type) const { return unit_gpus_[type]; }
    std::int64_t units(std::uint32_t type) const { return units_[type]; }
    const std::vector<Group>& groups(std::uint32_t type) const { return groups_[type]; }
    const Best& best(std::uint32_t type, std::size_t group, std::uint32_t klass) const {
        return best_[type][group * classes_ + klass];
    }
    double least_s() const { return least_s_; }
    /// The place of a message to a type among `sends_s`, in a pipeline of at least so many stages.
    std::size_t send(std::uint32_t from, std::uint32_t to, std::int64_t stages) const {
        return from == to ? types() + level_of(stages) : to;
    }
    bool is_stopped() const { return is_stopped_; }
    const Rounds& rounds() const { return rounds_; }
    std::int64_t micro_batches() const { return rounds_.count; }

    /// The least time from the first pass of a stage to its last, where `in_flight` stages are left, itself
    /// among them; the first micro-batch returns `first_s`, the last `last_s` after it was passed on.
    ///
    /// Passes of a stage follow each other, and a micro-batch returns to it after the later stages: any chain
    /// of such passes is a lower bound. With n micro-batches in flight the stage runs n forward passes, then
    /// a backward and a forward one by turns, then n backward ones. The first backward pass waits for n
    /// forward ones or for the way of the first micro-batch; the last one for n backward passes or for the
    /// way of the last micro-batch. The chain between is busy, or goes in laps: a forward pass, that of the
    /// next stage and its next backward one, and a backward pass for the micro-batch but one. `lap_s` is the
    /// time of a lap with both its messages, 0 of the last stage.
    double core_s(const Cell& cell, std::int64_t in_flight, double first_s, double last_s,
                  double lap_s) const {
        const auto ahead = static_cast<double>(in_flight - 1);
        const double forward_s = ahead * cell.forward_s, backward_s = ahead * cell.backward_s;
        if (in_flight == rounds_.count) {  // no forward pass follows the first backward one
            return cell.both_s() +
                   std::max({first_s + backward_s, last_s + forward_s, forward_s + backward_s});
        }
        const auto laps = static_cast<double>((rounds_.count - in_flight - 1) / 2);
        return static_cast<double>(rounds_.count - in_flight + 1) * cell.both_s() +
               laps * std::max(0.0, lap_s - 2 * cell.both_s()) + std::max(first_s, forward_s) +
               std::max(last_s, backward_s);
    }

private:
    void choose(const Ranges& ranges, Group& group, std::vector<Best>& best) const;

    Rounds rounds_;
    std::int64_t most_in_flight_;
    std::size_t classes_;
    std::vector<std::int64_t> unit_gpus_, units_;
    std::vector<std::vector<Group>> groups_;
    std::vector<std::vector<Best>> best_;  // by type, and (group, class)
    double least_s_;
    bool is_stopped_ = false;
};

/// Rounds that divide the batch, and those of replicas that fill a type where at most an eighth of them is
/// idle.
std::vector<Rounds> rounds_of(const Question& question);

/// GPUs that a stage of a type may have: equal parts of a node, and whole nodes; at most 32 units.
std::vector<std::int64_t> group_sizes(const GpuType& type);
/// The same of stages of a family.
std::vector<std::int64_t> group_sizes(const Question& question, std::uint32_t type, const Family& family);

/// Families that have all plans of a question: one, or all kinds and sizes of stages.
std::vector<Family> families_of(const Question& question);

/// Calls `visit(choice)` for each way to run a stage on so many GPUs of a type, whatever its layers.
template <typename Visit>
void each_choice(const Question& question, std::uint32_t type, std::int64_t gpus, const Family& family,
                 const Visit& visit) {
    const auto visit_mode = [&](std::uint32_t mode) {
        const std::int64_t replica = question.modes[type][mode].tp * question.modes[type][mode].cp;
        if (gpus % replica == 0) visit(StageChoice{type, mode, gpus / replica, 0});
    };
    if (family.gpus != 0) {
        if (family.modes[type] >= 0) visit_mode(static_cast<std::uint32_t>(family.modes[type]));
        return;
    }
    for (std::uint32_t mode = 0; mode < question.modes[type].size(); ++mode) visit_mode(mode);
}

}  // namespace dse::planner::steps
