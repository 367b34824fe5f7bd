// Beams and boxes in turn.
#include "planner/exact/anytime.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <utility>

#include "planner/exact/beam.hpp"
#include "planner/exact/best_plans.hpp"
#include "planner/exact/boxes.hpp"
#include "planner/exact/near.hpp"

namespace dse::planner::exact {

namespace {

constexpr std::uint64_t kFirstBoxes = 1000;
constexpr double kNarrow = 0.01;  // of the lowest box, before the first beams aim at it
constexpr std::uint64_t kBoxesPerTurn = 200;
constexpr double kLeastWidth = 1e-5;  // of a box, relative to the best plan
constexpr std::size_t kWidths[] = {1, 2, 4, 8};
/// The slack of beams above the box that they aim at; all sequences at the first, the best at the others.
constexpr double kSlacks[] = {1.1, 1.0, 1.03, 1.06, 1.2, 1.35};
constexpr double kMostSlack = 1.5;  // what may be missing is counted up to it
constexpr std::size_t kTurns = 3;   // per width
constexpr std::size_t kSequencesPerTurn = 4;
constexpr std::size_t kTargets = 2;          // numbers of micro-batches per turn
constexpr std::size_t kKeptCells = 100'000;  // ranges of layers, over all options that are kept

/// Of the longest stage time of the plan that is polished.
constexpr double kPolished[] = {1.0, 0.98, 0.96, 1.02};
constexpr std::uint32_t kPolishedWidth = 16;

class Anytime {
public:
    Anytime(const Problem& problem, const std::vector<std::vector<std::uint32_t>>& sequences,
            const AnytimeLimits& limits)
        : problem_(&problem),
          limits_(&limits),
          tables_(problem),
          found_{&limits, {}},
          boxes_(problem, ranks_, batches_, tables_, found_) {
        for (const auto& sequence : sequences) ranks_.push_back(std::make_unique<Ranks>(problem, sequence));
        for (std::uint64_t batches = problem.model.gbs; batches > 0; --batches)
            if (problem.model.gbs % batches == 0) batches_.push_back(batches);
        set_unit();
        set_period();
    }

    AnytimeResult run() {
        first_plans();
        if (!found_.plans.empty()) {
            boxes_.make_roots();
            boxes_.split(kFirstBoxes, kNarrow);
            for (const std::size_t width : kWidths) {
                for (std::size_t turn = 0; turn < kTurns && !closed() && !stopped(); ++turn) {
                    more_plans(static_cast<std::uint32_t>(width), width == 1 && turn == 0);
                    polish();
                    boxes_.split(boxes_.size() + kBoxesPerTurn, kLeastWidth);
                }
            }
        }
        AnytimeResult result;
        result.bound_ms = boxes_.bound_ms();
        if (found_.plans.size() > limits_->keep) found_.plans.resize(limits_->keep);
        result.plans = std::move(found_.plans);
        result.boxes = boxes_.take();
        result.root_ms = boxes_.root_ms();
        result.beams = beams_;
        result.stopped = stopped();
        return result;
    }

private:
    bool stopped() const { return found_.stopped(); }
    double best_ms() const { return found_.best_ms(); }
    bool closed() const { return boxes_.closed(); }

    /// Beams leave out small groups where many GPUs meet few layers, if types allow it.
    void set_unit() {
        std::uint32_t unit = std::bit_floor(std::max(1U, problem_->gpus() / (4 * problem_->layers())));
        for (const std::uint32_t count : problem_->gpus_of_types())
            while (count % unit != 0) unit /= 2;
        unit_ = unit;
    }

    /// The time of a sample if all GPUs worked at their best rate without a pause.
    void set_period() {
        double rate = 0;
        std::vector<double> best(problem_->types.size(), 0.0);
        const Profiles& profiles = problem_->profiles;
        for (std::uint32_t type = 0; type < best.size(); ++type)
            for (std::uint32_t log2_tp = 0; log2_tp < profiles.degrees; ++log2_tp)
                for (std::size_t batch = 1; batch < profiles.row_of_batch.size(); ++batch) {
                    const std::int32_t entry = profiles.find(type, log2_tp, batch);
                    if (entry == kMissing) continue;
                    const double ms = profiles.times[static_cast<std::size_t>(entry)].total_ms;
                    best[type] = std::max(
                        best[type], static_cast<double>(batch) / (ms * static_cast<double>(1U << log2_tp)));
                }
        for (const Host& host : problem_->hosts) rate += best[host.type] * host.gpus;
        sample_ms_ = rate > 0 ? 1 / rate : 0;
    }

    double period_of(std::uint64_t batches) const {
        return sample_ms_ * static_cast<double>(problem_->model.gbs) / static_cast<double>(batches);
    }

    void run_beam(std::size_t order, std::uint64_t batches, std::uint32_t width, std::uint32_t unit,
                  double period_ms, double tail_ms) {
        StageOptions& options = options_of(order, batches);
        // A limit does not end the first beams: there is to be a plan to keep.
        const bool first = found_.plans.empty() && beams_ < batches_.size();
        BeamLimits limits = limits_of(width, period_ms, tail_ms);
        limits.unit = unit;
        if (first) limits.stop = {};
        take(beam(*problem_, options, ranks_[order]->sequence(), limits));
    }

    /// Options are kept for the next beam, as long as they do not take too much memory.
    StageOptions& options_of(std::size_t order, std::uint64_t batches) {
        const std::size_t cells = (problem_->layers() + std::size_t{1}) * (problem_->layers() + 1);
        const auto known = options_.find({order, batches});
        if (known != options_.end()) return known->second;
        if ((options_.size() + 1) * cells > kKeptCells) options_.clear();
        return options_
            .try_emplace({order, batches}, *problem_, CostModel::strict, *ranks_[order], tables_, batches)
            .first->second;
    }

    void take(FoundPlan plan) {
        ++beams_;
        if (plan.cost_ms == kInfinite) return;
        if (insert_plan(found_.plans, std::move(plan))) boxes_.report();
    }

    /// One sequence for every number of micro-batches; all of them, and all groups, if that finds nothing.
    void first_plans() {
        for (const std::uint64_t batches : batches_)
            if (found_.plans.empty() || !stopped())
                run_beam(0, batches, 1, unit_, period_of(batches) * 1.1, 0);
        for (std::size_t order = 0; order < ranks_.size() && found_.plans.empty(); ++order)
            for (const std::uint64_t batches : batches_)
                if (found_.plans.empty() && !stopped()) run_beam(order, batches, 4, 1, period_of(batches), 0);
    }

    /// The micro-batches whose boxes are the lowest, and around the period where they are.
    void more_plans(std::uint32_t width, bool around) {
        std::vector<Box> targets = boxes_.lowest();
        if (targets.size() > kTargets) targets.resize(kTargets);
        for (std::size_t i = 0; i < targets.size() && !stopped(); ++i)
            if (around)
                aim_around(targets[i], width);
            else
                aim(targets[i], width);
    }

    /// Beams at and above the longest stage time of a box.
    void aim_around(const Box& target, std::uint32_t width) {
        std::vector<std::size_t> orders(ranks_.size());
        std::iota(orders.begin(), orders.end(), std::size_t{0});
        Box around = target;
        around.period_low_ms = around.tail_low_ms = around.bound_ms = 0;
        around.period_high_ms *= kMostSlack;
        around.tail_high_ms *= kMostSlack;
        boxes_.raise(around);
        const Completion completion = boxes_.completion(around);
        for (const double slack : kSlacks) {
            around.period_high_ms = target.period_high_ms * slack;
            around.tail_high_ms = target.tail_high_ms * slack;
            for (const std::size_t order : orders)
                if (!stopped() && !closed()) run_beam(order, around, width, completion, false);
            keep_best(orders, target.batches);
        }
    }

    /// Only sequences that are good.
    void keep_best(std::vector<std::size_t>& orders, std::uint64_t batches) const {
        std::stable_sort(orders.begin(), orders.end(), [&](std::size_t a, std::size_t b) {
            return best_of(a, batches) < best_of(b, batches);
        });
        orders.resize(std::min(orders.size(), kSequencesPerTurn));
    }

    /// Beams in bands of the longest stage time that may have better plans, the most promising first.
    void aim(const Box& target, std::uint32_t width) {
        const std::vector<Box> bands = boxes_.bands_of(target);
        std::vector<std::size_t> orders(ranks_.size());
        std::iota(orders.begin(), orders.end(), std::size_t{0});
        for (const Box& band : bands) {
            if (stopped() || closed()) return;
            if (band.bound_ms >= found_.goal_ms()) continue;
            const Completion completion = boxes_.completion(band);
            for (const std::size_t order : orders)
                if (!stopped() && !closed()) run_beam(order, band, width, completion, true);
            keep_best(orders, target.batches);
        }
    }

    void run_beam(std::size_t order, const Box& around, std::uint32_t width, const Completion& completion,
                  bool inside) {
        StageOptions& options = options_of(order, around.batches);
        BeamLimits limits = limits_of(width, around.period_high_ms, around.tail_high_ms);
        limits.unit = unit_;
        if (inside) limits.incumbent_ms = best_ms();
        limits.completion = &completion;
        limits.ranks = ranks_[order].get();
        if (inside) {
            limits.owed_ms = owed_ms(*ranks_[order], around.multipliers);
            limits.least_period_ms = around.period_low_ms;
        }
        take(beam(*problem_, options, ranks_[order]->sequence(), limits));
    }

    /// The price of the GPUs before each start of a group.
    std::vector<double> owed_ms(const Ranks& ranks, const std::vector<double>& multipliers) const {
        const std::vector<std::uint32_t> owned = problem_->gpus_of_types();
        std::vector<double> owed{0.0};
        double sum = 0;
        for (std::uint32_t rank = 0; rank < ranks.gpus(); ++rank) {
            sum += multipliers[ranks.type(rank)] / owned[ranks.type(rank)];
            if ((rank + 1) % unit_ == 0) owed.push_back(sum);
        }
        return owed;
    }

    /// Beams among the groups of the best plan, their halves and their pairs, as long as they find better
    /// ones.
    void polish() {
        while (best_ms() < polished_ms_ && !closed() && !stopped()) {
            polished_ms_ = best_ms();
            const FoundPlan plan = found_.plans.front();
            const auto same = [&](const std::unique_ptr<Ranks>& order) {
                return order->sequence() == plan.sequence;
            };
            const auto order = std::find_if(ranks_.begin(), ranks_.end(), same) - ranks_.begin();
            StageOptions& options = options_of(static_cast<std::size_t>(order), plan.batches);
            const auto [period_ms, tail_ms] = longest_of(*problem_, plan, options);
            const auto groups = groups_near(plan);
            for (const double slack : kPolished) {
                BeamLimits limits = limits_of(kPolishedWidth, period_ms * slack, tail_ms);
                limits.incumbent_ms = best_ms();
                limits.groups = &groups;
                if (!stopped()) take(beam(*problem_, options, plan.sequence, limits));
            }
        }
    }

    double best_of(std::size_t order, std::uint64_t batches) const {
        for (const FoundPlan& plan : found_.plans)
            if (plan.batches == batches && plan.sequence == ranks_[order]->sequence()) return plan.cost_ms;
        return kInfinite;
    }

    /// A beam for plans whose longest stage time and tail are up to these, among groups of any size.
    BeamLimits limits_of(std::uint32_t width, double period_ms, double tail_ms) const {
        BeamLimits limits;
        limits.width = width;
        limits.period_ms = period_ms;
        limits.tail_ms = tail_ms;
        limits.stop = limits_->stop;
        return limits;
    }

    const Problem* problem_;
    const AnytimeLimits* limits_;
    LayerTables tables_;
    std::vector<std::unique_ptr<Ranks>> ranks_;
    std::vector<std::uint64_t> batches_;
    std::map<std::pair<std::size_t, std::uint64_t>, StageOptions> options_;  ///< by order and micro-batches
    std::uint32_t unit_ = 1;
    double sample_ms_ = 0;
    Incumbents found_;
    Boxes boxes_;
    double polished_ms_ = kInfinite;  ///< the best plan when beams last were among its groups
    std::uint64_t beams_ = 0;
};

}  // namespace

AnytimeResult search_anytime(const Problem& problem, const std::vector<std::vector<std::uint32_t>>& sequences,
                             const AnytimeLimits& limits) {
    return Anytime(problem, sequences, limits).run();
}

}  // namespace dse::planner::exact
