#include "planner/steps/search.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "planner/steps/climb.hpp"
#include "planner/steps/least.hpp"
#include "planner/steps/table.hpp"

namespace dse::planner::steps {

namespace {

constexpr std::uint64_t kFewNeighbours = 3000;    // that are priced of a good plan
constexpr std::uint64_t kManyNeighbours = 30000;  // of the best plans in the end
constexpr double kClimbAbove = 1.05;              // of the best plan: neighbours of plans below are priced
constexpr std::size_t kImproved = 4;              // of the best plans
constexpr std::array kSteps{0.05, 0.03, 0.01};    // by precision, once tables are not small
constexpr std::uint64_t kFewLabels = 100'000;
constexpr std::uint64_t kLabelsOfProof = 4'000'000;  // once the gap is met: parts of a second
constexpr std::uint64_t kNodesOfProof = 300'000;
constexpr std::uint64_t kScoutLabels = 10'000'000;
constexpr double kBeamAbove = 1.05;  // the bound of a block: few of its best plans are further away
constexpr double kLastStep = 16.0;

/// Plans of a family with one number of micro-batches.
struct Block {
    const Family* family = nullptr;
    Rounds rounds;
    double bound_s = 0.0;
    std::unique_ptr<Options> options{};
    double step = kSteps[0];    ///< the share by which the next table looks above the bound
    std::size_t precision = 0;  ///< of that table
    bool is_open = true;        ///< whether a higher target of tables may raise the bound
};

class Search {
public:
    Search(const Question& question, const Limits& limits)
        : question_(question),
          limits_(limits),
          ranges_(question),
          ways_(question),
          ranking_(limits.incumbent_s),
          climb_(question, ways_, ranking_, limits.stop, priced_),
          gap_(limits.gap),
          most_nodes_(limits.nodes) {
        std::int64_t gpus = 0;
        for (const GpuType& type : question.types) {
            gpus += type.gpus;
        }
        most_stages_ = std::min({kMostStages, ranges_.layers(), gpus});
    }

    SearchResult result() {
        const std::vector<Family> families = families_of(question_);
        std::vector<Block> blocks;
        LeastSteps least(question_, ways_);
        for (const Rounds& rounds : rounds_of(question_)) {
            for (const Family& family : families) {
                const double bound_s = least.of(family, rounds);
                single_stages(family, rounds);
                if (bound_s < step::kInfinite) blocks.push_back({&family, rounds, bound_s});
            }
        }
        // Few micro-batches make small tables.
        std::reverse(blocks.begin(), blocks.end());
        if (question_.kinds.empty()) {
            for (Block& block : blocks) scout(block);
            raise(blocks);
        }
        for (const FoundPlan& plan : ranking_.fastest(kImproved)) climb_.from(plan, kManyNeighbours);
        prove(blocks);
        if (gap_ > 0) {  // good enough: proven the best where that costs little
            gap_ = 0;
            most_labels_ = labels_ + kLabelsOfProof;
            most_nodes_ = std::min(most_nodes_, nodes_ + kNodesOfProof);
            prove(blocks);
        }
        SearchResult found;
        found.plans = ranking_.fastest(limits_.keep);
        found.bound_s = ranking_.best_s();
        for (const Block& block : blocks) found.bound_s = std::min(found.bound_s, block.bound_s);
        found.complete = found.bound_s >= ranking_.best_s() * kLeastGain;
        if (found.complete) found.bound_s = ranking_.best_s();
        found.priced = priced_;
        found.labels = labels_;
        return found;
    }

private:
    void try_plan(const MixedPlan& plan, Ways& ways) {
        ++priced_;
        if (const auto found = price(question_, ways, plan)) ranking_.add(found->step_s, plan);
    }

    void single_stages(const Family& family, const Rounds& rounds) {
        Ways ways(question_);  // which no pipeline has: to keep them takes memory, and time in the end
        for (std::uint32_t type = 0; type < question_.types.size(); ++type) {
            for (const std::int64_t gpus : group_sizes(question_, type, family)) {
                if (limits_.stop()) return;
                each_choice(question_, type, gpus, family, [&](StageChoice choice) {
                    choice.layers = ranges_.layers();
                    try_plan({rounds, {choice}}, ways);
                });
            }
        }
    }

    /// The bound that is good enough.
    double goal_s() const { return ranking_.best_s() * kLeastGain / (1 + gap_); }

    /// Bounds all blocks by the goal, or prices their plans below it, as far as the limits allow.
    void prove(std::vector<Block>& blocks) {
        const bool has_families = !question_.kinds.empty();
        if (has_families) {
            raise_families(blocks);
        } else {
            raise(blocks);
        }
        sort(blocks);
        for (Block& block : blocks) {
            if (has_families) nodes_ = 0;  // each family is a search of its own
            if (block.bound_s < goal_s()) enumerate(block);
            if (has_families) block.options.reset();  // there may be thousands
        }
    }

    static void sort(std::vector<Block>& blocks) {
        std::stable_sort(blocks.begin(), blocks.end(),
                         [](const Block& one, const Block& other) { return one.bound_s < other.bound_s; });
    }

    /// Tables of families are small, and many: each block has all but the finest of its own at once.
    void raise_families(std::vector<Block>& blocks) {
        sort(blocks);
        for (Block& block : blocks) {
            while (!limits_.stop() && block.precision + 1 < kPrecisions.size() && block.bound_s < goal_s()) {
                if (!raise(block)) break;
            }
            block.options.reset();
        }
    }

    SuffixTable table_of(const Options& options, const Precision& precision, double target_s,
                         std::uint64_t most_labels = std::numeric_limits<std::uint64_t>::max()) {
        SuffixTable table(ranges_, options, precision, most_stages_, target_s,
                          std::min(most_labels, most_labels_ - std::min(most_labels_, labels_)),
                          limits_.stop);
        labels_ += table.labels();
        return table;
    }

    /// Raises the least bound in steps until all reach the goal, and prices the plans of the least bounds.
    ///
    /// A table has all pipelines whose bound is below its target: the least of them, or else the target,
    /// bounds the block. Small targets make small tables. Coarse tables of all blocks come first, for their
    /// plans lower the goal, and beams before the finest, which are the largest.
    void raise(std::vector<Block>& blocks) {
        while (!limits_.stop()) {
            Block* least = nullptr;
            for (Block& block : blocks) {
                if (!block.is_open || block.bound_s >= goal_s()) continue;
                if (least == nullptr ||
                    std::pair(block.precision, block.bound_s) < std::pair(least->precision, least->bound_s)) {
                    least = &block;
                }
            }
            if (least == nullptr || !raise(*least)) return;
        }
    }

    /// Makes the next table of a block; false where the search or so many labels end it.
    bool raise(Block& block, std::uint64_t most_labels = std::numeric_limits<std::uint64_t>::max()) {
        const Options* options = options_of(block);
        if (options == nullptr) return false;
        const double next_s = block.step > kLastStep ? step::kInfinite : block.bound_s * (1 + block.step);
        const double target_s = std::min(goal_s(), next_s);
        const SuffixTable table = table_of(*options, kPrecisions[block.precision], target_s, most_labels);
        if (table.is_stopped()) return false;
        const bool has_plan = table.least_s() < step::kInfinite;
        if (has_plan) {
            block.is_open = block.precision + 1 < kPrecisions.size();
            if (block.is_open) ++block.precision;
        } else if (target_s == step::kInfinite) {
            block.is_open = false;
        }
        block.bound_s = std::max(block.bound_s, std::min(target_s, table.least_s()));
        block.step = table.labels() < kFewLabels && !has_plan ? 2 * block.step : kSteps[block.precision];
        improve(table.plans());
        if (has_plan && block.is_open && block.precision == kPrecisions.size() - 1) {
            improve(beam(*options, block.bound_s));
        }
        return true;
    }

    /// Prices plans of one suffix at each cut: the tables of bounds are small once good plans are known.
    ///
    /// Small tables come before, for a bound is known then where time ends.
    void scout(Block& block) {
        while (!limits_.stop() && block.precision == 0 && block.bound_s < goal_s()) {
            if (!raise(block, kFewLabels)) break;
        }
        const Options* options = limits_.stop() || block.bound_s >= goal_s() ? nullptr : options_of(block);
        if (options == nullptr) return;
        const double target_s = ranking_.best_s() * kLeastGain;
        const SuffixTable table = table_of(*options, kScout, target_s, kScoutLabels);
        improve(table.plans());
    }

    /// Good plans of a block with a bound, found without a proof.
    std::vector<MixedPlan> beam(const Options& options, double bound_s) {
        const double target_s = std::min(ranking_.best_s() * kLeastGain, bound_s * kBeamAbove);
        return table_of(options, kBeam, target_s).plans();
    }

    /// Prices plans, and neighbours of those that are not much slower than the best.
    void improve(const std::vector<MixedPlan>& plans) {
        for (const MixedPlan& plan : plans) {
            ++priced_;
            const auto found = price(question_, ways_, plan);
            if (!found) continue;
            ranking_.add(found->step_s, plan);
            if (found->step_s < ranking_.best_s() * kClimbAbove)
                climb_.from({found->step_s, plan}, kFewNeighbours);
        }
    }

    /// Prices all plans of a block whose bound is below the best; a bound of its own where nodes run out.
    void enumerate(Block& block) {
        if (nodes_ >= most_nodes_ || limits_.stop()) return;
        const Options* options = options_of(block);
        if (options == nullptr) return;
        SuffixTable table = table_of(*options, kPrecisions.back(), goal_s());
        if (table.is_stopped()) return;
        block.bound_s = std::max(block.bound_s, std::min(table.least_s(), goal_s()));
        improve(table.plans());
        if (block.bound_s >= goal_s()) return;
        table.index();
        const double goal = goal_s();
        bool is_complete = true;
        for (std::int64_t stages = 2; stages <= table.stages(); ++stages) {
            MixedPlan plan{block.rounds, {}};
            is_complete = descend(*options, table, stages, all_types(), {}, plan) && is_complete;
        }
        if (is_complete) block.bound_s = std::max(block.bound_s, std::min(goal, goal_s()));
    }

    /// The cut before the first stage: all types are left, and none has begun.
    Cut all_types() const { return {(TypeSet{1} << question_.types.size()) - 1, 0, 0, 0}; }

    /// Stages that are chosen: their passes, and the greatest of each kind of chain through one of them,
    /// less later stages where it passes these once or twice (`Options::core_s`).
    struct Front {
        double before_s = 0.0, busy_s = 0.0, once_s = 0.0, twice_s = -step::kInfinite;
        double filled_s = 0.0, tail_s = 0.0;
    };

    /// Adds stages to `plan`, the first first; false where nodes ran out.
    bool descend(const Options& options, const SuffixTable& table, std::int64_t stages, const Cut& left,
                 const Front& front, MixedPlan& plan) {
        if (stages == 0) {
            try_plan(plan, ways_);
            return true;
        }
        const std::int64_t in_flight = std::min(options.micro_batches(), stages);
        const auto batches = static_cast<double>(options.micro_batches());
        const std::size_t level =
            stages == 1 ? 0 : level_of(static_cast<std::int64_t>(plan.stages.size()) + stages);
        for (std::uint32_t type = 0; type < options.types(); ++type) {
            const bool is_new = ((left.others >> type) & 1) != 0;
            if (!is_new && (type != left.type || plan.stages.empty())) continue;
            const std::int64_t free = is_new ? options.units(type) : left.units;
            for (const Group& group : options.groups(type)) {
                Cut next{left.others & ~(TypeSet{1} << type), type,
                         free - group.gpus / options.unit_gpus(type), 0};
                if (next.units < 0) continue;
                const std::int64_t most = stages == 1 ? ranges_.layers() : ranges_.layers() - stages + 1;
                const std::int64_t least = stages == 1 ? ranges_.layers() : left.layer + 1;
                for (next.layer = least; next.layer <= most; ++next.layer) {
                    const SuffixTable::Least after =
                        stages == 1 ? SuffixTable::Least{0.0, 0.0} : table.after(stages - 1, next);
                    if (after.bound_s == step::kInfinite) continue;
                    for (const Option& option : group.options) {
                        const Cell& cell = option.cells[ranges_.of(left.layer, next.layer)];
                        if (cell.most_in_flight < in_flight) continue;
                        const auto flight = static_cast<double>(in_flight);
                        const double both_s = cell.both_s(),
                                     sent_s = stages == 1 ? 0.0 : 2 * option.least_sends_s[level];
                        Front on = front;
                        on.before_s += both_s + sent_s;
                        on.busy_s = std::max(on.busy_s, front.before_s + batches * both_s);
                        on.once_s =
                            std::max(on.once_s, (batches - flight) * both_s +
                                                    (flight - 1) * std::max(cell.forward_s, cell.backward_s));
                        if (in_flight < options.micro_batches()) {
                            on.twice_s =
                                std::max(on.twice_s, (batches - flight - 1) * both_s - front.before_s);
                        }
                        const double passes_s = on.before_s + after.pass_s;
                        on.tail_s = std::max(on.tail_s, cell.tail_s - front.filled_s);
                        on.filled_s += cell.forward_s;
                        const double bound_s = std::max({on.busy_s, on.before_s + after.bound_s,
                                                         on.once_s + passes_s, on.twice_s + 2 * passes_s}) +
                                               on.tail_s;
                        if (bound_s >= goal_s()) continue;
                        if (++nodes_ >= most_nodes_ || (nodes_ % 256 == 0 && limits_.stop())) {
                            nodes_ = most_nodes_;
                            return false;
                        }
                        plan.stages.push_back(option.choice);
                        plan.stages.back().layers = next.layer - left.layer;
                        const bool is_whole = descend(options, table, stages - 1, next, on, plan);
                        plan.stages.pop_back();
                        if (!is_whole) return false;
                    }
                }
            }
        }
        return true;
    }

    /// None where the search ends before they are there.
    const Options* options_of(Block& block) {
        if (!block.options) {
            block.options = std::make_unique<Options>(question_, ranges_, ways_, *block.family, block.rounds,
                                                      most_stages_, block.bound_s, limits_.stop);
        }
        return block.options->is_stopped() ? nullptr : block.options.get();
    }

    const Question& question_;
    const Limits& limits_;
    Ranges ranges_;
    Ways ways_;
    Ranking ranking_;
    Climb climb_;
    double gap_ = 0.0;
    std::uint64_t most_nodes_ = 0;
    std::uint64_t most_labels_ = std::numeric_limits<std::uint64_t>::max();
    std::int64_t most_stages_ = 1;
    std::uint64_t priced_ = 0, labels_ = 0, nodes_ = 0;
};

}  // namespace

SearchResult search(const Question& question, const Limits& limits) {
    return Search(question, limits).result();
}

}  // namespace dse::planner::steps
