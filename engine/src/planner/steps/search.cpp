#include "planner/steps/search.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "planner/steps/table.hpp"

namespace dse::planner::steps {

namespace {

constexpr std::int64_t kMostStages = 64;
constexpr std::uint64_t kFewNeighbours = 200;    // that are priced of a new best plan
constexpr std::uint64_t kManyNeighbours = 3000;  // of the best plans in the end
constexpr std::size_t kImproved = 4;             // of the best plans
constexpr double kLeastGain = 1 - 1e-9;

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

std::vector<TypeOrder> orders_of(std::size_t types) {
    TypeOrder order(types);
    std::iota(order.begin(), order.end(), 0U);
    std::vector<TypeOrder> found;
    do {
        found.push_back(order);
    } while (std::next_permutation(order.begin(), order.end()));
    return found;
}

/// Plans of one number of micro-batches and one order of types.
struct Block {
    Rounds rounds;
    const TypeOrder* order = nullptr;
    double bound_s = 0.0;
};

class Search {
public:
    Search(const Question& question, const Limits& limits)
        : question_(question),
          limits_(limits),
          ranges_(question),
          ways_(question),
          ranking_(limits.incumbent_s),
          orders_(orders_of(question.types.size())) {
        std::int64_t gpus = 0;
        for (const GpuType& type : question.types) {
            gpus += type.gpus;
            all_.push_back(type.gpus);
        }
        most_stages_ = std::min({kMostStages, ranges_.layers(), gpus});
    }

    SearchResult result() {
        const std::vector<Rounds> all = rounds_of(question_);
        for (const Rounds& rounds : all) single_stages(rounds);
        std::vector<Block> blocks = bounded(all);
        for (const FoundPlan& plan : ranking_.fastest(kImproved)) climb(plan, kManyNeighbours);
        std::stable_sort(blocks.begin(), blocks.end(),
                         [](const Block& one, const Block& other) { return one.bound_s < other.bound_s; });
        for (Block& block : blocks) {
            if (block.bound_s < ranking_.best_s() * kLeastGain) enumerate(block);
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
    void try_plan(const MixedPlan& plan) {
        ++priced_;
        if (const auto found = price(question_, ways_, plan)) ranking_.add(found->step_s, plan);
    }

    void single_stages(const Rounds& rounds) {
        for (std::uint32_t type = 0; type < question_.types.size(); ++type) {
            for (const std::int64_t gpus : group_sizes(question_.types[type])) {
                for (std::uint32_t mode = 0; mode < question_.modes[type].size(); ++mode) {
                    const step::Plan& plan = question_.modes[type][mode];
                    if (gpus % (plan.tp * plan.cp) != 0) continue;
                    try_plan({rounds, {{type, mode, gpus / (plan.tp * plan.cp), ranges_.layers()}}});
                }
            }
        }
    }

    /// Bounds every block, and prices and improves the plans of its least bounds.
    std::vector<Block> bounded(const std::vector<Rounds>& all) {
        std::vector<Block> blocks;
        std::vector<std::pair<double, Rounds>> by_work;
        for (const Rounds& rounds : all) {
            const double work_s = least_s(options_of(rounds));
            const auto stages = static_cast<double>(std::max<std::size_t>(2, question_.types.size()));
            by_work.emplace_back(work_s * (1 + (stages - 1) / static_cast<double>(rounds.count)), rounds);
        }
        std::sort(by_work.begin(), by_work.end());  // the most promising first
        for (std::size_t number = 0; number < orders_.size(); ++number) {
            for (const auto& [promise, rounds] : by_work) {
                const Options& options = options_of(rounds);
                Block block{rounds, &orders_[number], least_s(options)};
                if (block.bound_s < ranking_.best_s() * kLeastGain && !limits_.stop() &&
                    !is_near(blocks, block.bound_s)) {
                    const SuffixTable table(question_, ranges_, options, orders_[number], most_stages_,
                                            ranking_.best_s(), limits_.stop);
                    labels_ += table.labels();
                    if (!table.is_stopped()) block.bound_s = std::max(block.bound_s, table.least_s());
                    improve(table.plans());
                }
                blocks.push_back(block);
            }
        }
        return blocks;
    }

    double least_s(const Options& options) const {
        double speed = 0.0;
        for (std::uint32_t type = 0; type < all_.size(); ++type) speed += options.speed(type, all_[type]);
        return options.least_s(speed, ranges_.layers());
    }

    /// Whether the gap that is asked for is reached already, whatever comes.
    bool is_near(const std::vector<Block>& blocks, double least_s) const {
        if (limits_.gap <= 0) return false;
        for (const Block& block : blocks) least_s = std::min(least_s, block.bound_s);
        return ranking_.best_s() <= least_s * (1 + limits_.gap);
    }

    /// Prices plans, and the neighbours of one that is better than all before.
    void improve(const std::vector<MixedPlan>& plans) {
        const double before_s = ranking_.best_s();
        for (const MixedPlan& plan : plans) try_plan(plan);
        if (ranking_.best_s() < before_s) climb(ranking_.fastest(1).front(), kFewNeighbours);
    }

    /// Takes the first better neighbour, until there is none.
    void climb(FoundPlan at, std::uint64_t left) {
        for (bool is_better = true; is_better && left != 0 && !limits_.stop();) {
            is_better = false;
            for (const MixedPlan& plan : neighbours(at.plan)) {
                if (left == 0) break;
                --left;
                ++priced_;
                const auto found = price(question_, ways_, plan);
                if (!found || found->step_s >= at.step_s * kLeastGain) continue;
                at = {found->step_s, plan};
                ranking_.add(at.step_s, at.plan);
                is_better = true;
                break;
            }
        }
    }

    /// A layer moved from one stage to another, and other modes of a stage on its GPUs.
    std::vector<MixedPlan> neighbours(const MixedPlan& plan) const {
        std::vector<MixedPlan> found;
        const std::size_t count = plan.stages.size();
        for (std::size_t from = 0; from < count; ++from) {
            for (std::size_t to = 0; to < count; ++to) {
                if (from == to || plan.stages[from].layers < 2) continue;
                MixedPlan moved = plan;
                --moved.stages[from].layers;
                ++moved.stages[to].layers;
                found.push_back(std::move(moved));
            }
        }
        for (std::size_t at = 0; at < count; ++at) {
            const StageChoice& own = plan.stages[at];
            const auto& modes = question_.modes[own.type];
            const std::int64_t gpus = own.dp * modes[own.mode].tp * modes[own.mode].cp;
            for (std::uint32_t mode = 0; mode < modes.size(); ++mode) {
                const std::int64_t replica = modes[mode].tp * modes[mode].cp;
                if (mode == own.mode || gpus % replica != 0) continue;
                MixedPlan other = plan;
                other.stages[at].mode = mode;
                other.stages[at].dp = gpus / replica;
                found.push_back(std::move(other));
            }
        }
        return found;
    }

    /// Prices all plans of a block whose bound is below the best; a bound of its own where nodes run out.
    void enumerate(Block& block) {
        if (nodes_ >= limits_.nodes || limits_.stop()) return;
        const Options& options = options_of(block.rounds);
        const SuffixTable table(question_, ranges_, options, *block.order, most_stages_, ranking_.best_s(),
                                limits_.stop);
        labels_ += table.labels();
        if (table.is_stopped()) return;
        block.bound_s = std::max(block.bound_s, std::min(table.least_s(), ranking_.best_s()));
        bool is_complete = true;
        for (std::int64_t stages = 2; stages <= table.stages(); ++stages) {
            MixedPlan plan{block.rounds, {}};
            const std::int64_t gpus = question_.types[(*block.order)[0]].gpus;
            is_complete =
                descend(options, table, *block.order, stages, 0, gpus, 0, {0.0, 0.0}, plan) && is_complete;
        }
        if (is_complete) block.bound_s = ranking_.best_s();
    }

    /// Stages that are chosen: what later ones wait for, a bound, and a bound less the passes of later
    /// stages.
    ///
    /// Before its first backward pass a stage waits for both passes of all later stages, less the forward
    /// passes that it does meanwhile.
    struct Front {
        double before_s = 0.0, bound_s = 0.0, waiting_s = 0.0;
    };

    /// Adds stages to `plan`, the first first; false where nodes ran out.
    bool descend(const Options& options, const SuffixTable& table, const TypeOrder& order,
                 std::int64_t stages, std::size_t place, std::int64_t gpus, std::int64_t layer,
                 const Front& front, MixedPlan& plan) {
        if (stages == 0) {
            try_plan(plan);
            return true;
        }
        const std::int64_t in_flight = std::min(options.micro_batches(), stages);
        for (std::size_t next = place; next < order.size(); ++next) {
            const std::int64_t free = next == place ? gpus : question_.types[order[next]].gpus;
            for (const Group& group : options.groups(order[next])) {
                if (group.gpus > free) continue;
                const std::int64_t most = stages == 1 ? ranges_.layers() : ranges_.layers() - stages + 1;
                const std::int64_t least = stages == 1 ? ranges_.layers() : layer + 1;
                for (std::int64_t end = least; end <= most; ++end) {
                    const double after_s =
                        stages == 1 ? 0.0 : table.after_s(stages - 1, next, free - group.gpus, end);
                    if (after_s == step::kInfinite) continue;
                    const double later_s =
                        stages == 1 ? 0.0 : table.pass_s(stages - 1, next, free - group.gpus, end);
                    for (const Option& option : group.options) {
                        const Cell& cell = option.cells[ranges_.of(layer, end)];
                        if (cell.most_in_flight < in_flight) continue;
                        const double meanwhile_s = static_cast<double>(in_flight - 1) * cell.forward_s;
                        const Front on{front.before_s + cell.pass_s,
                                       std::max(front.bound_s, front.before_s + cell.step_s),
                                       std::max(front.waiting_s, cell.step_s - cell.pass_s - meanwhile_s)};
                        const double bound = std::max(
                            {on.bound_s, on.before_s + after_s, on.waiting_s + on.before_s + later_s});
                        if (bound >= ranking_.best_s() * kLeastGain) continue;
                        if (++nodes_ >= limits_.nodes || (nodes_ % 256 == 0 && limits_.stop())) {
                            nodes_ = limits_.nodes;
                            return false;
                        }
                        plan.stages.push_back(option.choice);
                        plan.stages.back().layers = end - layer;
                        const bool is_whole = descend(options, table, order, stages - 1, next,
                                                      free - group.gpus, end, on, plan);
                        plan.stages.pop_back();
                        if (!is_whole) return false;
                    }
                }
            }
        }
        return true;
    }

    Options& options_of(const Rounds& rounds) {
        auto& known = options_[rounds];
        if (!known) known = std::make_unique<Options>(question_, ranges_, ways_, rounds, most_stages_);
        return *known;
    }

    const Question& question_;
    const Limits& limits_;
    Ranges ranges_;
    Ways ways_;
    Ranking ranking_;
    std::vector<TypeOrder> orders_;
    std::vector<std::int64_t> all_;
    std::int64_t most_stages_ = 1;
    std::map<Rounds, std::unique_ptr<Options>> options_;
    std::uint64_t priced_ = 0, labels_ = 0, nodes_ = 0;
};

}  // namespace

SearchResult search(const Question& question, const Limits& limits) {
    return Search(question, limits).result();
}

}  // namespace dse::planner::steps
