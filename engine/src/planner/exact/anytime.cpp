// Beams and boxes in turn.
#include "planner/exact/anytime.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <utility>

#include "planner/exact/beam.hpp"
#include "planner/exact/best_plans.hpp"
#include "planner/exact/near.hpp"

namespace dse::planner::exact {

namespace {

constexpr std::uint32_t kRounds = 150;  // of prices, per box
constexpr std::uint64_t kFirstBoxes = 1000;
constexpr double kNarrow = 0.01;  // of the lowest box, before the first beams aim at it
constexpr std::uint64_t kBoxesPerTurn = 200;
constexpr double kLeastWidth = 1e-5;  // of a box, relative to the best plan
constexpr std::size_t kWidths[] = {1, 2, 4, 8};
/// What beams may take above the box that they aim at; all sequences at the first, the best at the others.
constexpr double kSlacks[] = {1.1, 1.0, 1.03, 1.06, 1.2, 1.35};
constexpr double kMostSlack = 1.5;  // what may be missing is counted up to it
constexpr std::size_t kTurns = 3;   // per width
constexpr std::size_t kSequencesPerTurn = 4;
constexpr std::size_t kTargets = 2;  // numbers of micro-batches per turn
constexpr std::size_t kBands = 6;    // of the longest stage time, per turn and target
constexpr double kBand = 1.03;       // beams seek plans whose longest stage time is in a band of this ratio

constexpr std::size_t kKeptCells = 100'000;  // ranges of layers, over all options that are kept

/// Of the longest stage time of the plan that is polished.
constexpr double kPolished[] = {1.0, 0.98, 0.96, 1.02};
constexpr std::uint32_t kPolishedWidth = 16;

class Anytime {
public:
    Anytime(const Problem& problem, const std::vector<std::vector<std::uint32_t>>& sequences,
            const AnytimeLimits& limits)
        : problem_(&problem), limits_(&limits), tables_(problem) {
        for (const auto& sequence : sequences) ranks_.push_back(std::make_unique<Ranks>(problem, sequence));
        for (std::uint64_t batches = problem.model.gbs; batches > 0; --batches)
            if (problem.model.gbs % batches == 0) batches_.push_back(batches);
        set_unit();
        set_period();
    }

    AnytimeResult run() {
        first_plans();
        if (!plans_.empty()) {
            make_roots();
            split_boxes(kFirstBoxes, kNarrow);
            for (const std::size_t width : kWidths) {
                for (std::size_t turn = 0; turn < kTurns && !closed() && !stopped(); ++turn) {
                    more_plans(static_cast<std::uint32_t>(width), width == 1 && turn == 0);
                    polish();
                    split_boxes(boxes_.size() + kBoxesPerTurn, kLeastWidth);
                }
            }
        }
        AnytimeResult result;
        result.bound_ms = bound_ms();
        if (plans_.size() > limits_->keep) plans_.resize(limits_->keep);
        result.plans = std::move(plans_);
        result.boxes = std::move(boxes_);
        result.root_ms = root_ms_;
        result.beams = beams_;
        result.stopped = stopped();
        return result;
    }

private:
    bool stopped() const { return limits_->stop && limits_->stop(); }
    double best_ms() const { return plans_.empty() ? kInfinite : plans_.front().cost_ms; }
    double goal_ms() const {  // costs are negative where gaps are
        return best_ms() < 0 ? best_ms() * (1 + limits_->gap) : best_ms() / (1 + limits_->gap);
    }
    bool closed() const { return bound_ms() >= goal_ms(); }
    void report() const {
        if (limits_->progress) limits_->progress(best_ms(), bound_ms());
    }

    double bound_ms() const {
        if (boxes_.empty()) return 0;
        return std::min(best_ms(), boxes_.front().bound_ms);
    }

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
        const bool first = plans_.empty() && beams_ < batches_.size();
        BeamLimits limits;
        limits.width = width;
        limits.unit = unit;
        limits.period_ms = period_ms;
        limits.tail_ms = tail_ms;
        if (!first) limits.stop = limits_->stop;
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
        if (insert_plan(plans_, std::move(plan))) report();
    }

    /// One sequence for every number of micro-batches; all of them, and all groups, if that finds nothing.
    void first_plans() {
        for (const std::uint64_t batches : batches_)
            if (plans_.empty() || !stopped()) run_beam(0, batches, 1, unit_, period_of(batches) * 1.1, 0);
        for (std::size_t order = 0; order < ranks_.size() && plans_.empty(); ++order)
            for (const std::uint64_t batches : batches_)
                if (plans_.empty() && !stopped()) run_beam(order, batches, 4, 1, period_of(batches), 0);
    }

    void make_roots() {
        const BestPlaces places = best_places(*problem_, ranks_);
        root_ms_ = best_ms();
        for (const std::uint64_t batches : batches_) {
            relaxed_.push_back(
                std::make_unique<RelaxedStages>(*problem_, ranks_, places, tables_, batches, scratch_));
            Box box = relaxed_.back()->root(root_ms_);
            if (!stopped()) relaxed_.back()->raise(box, root_ms_, kRounds);
            push(std::move(box));
        }
    }

    /// The micro-batches whose boxes are the lowest, and around the period where they are.
    void more_plans(std::uint32_t width, bool around) {
        std::vector<const Box*> lowest;  // per number of micro-batches
        for (const std::uint64_t batches : batches_) {
            const Box* low = nullptr;
            for (const Box& box : boxes_)
                if (box.batches == batches && (low == nullptr || box.bound_ms < low->bound_ms)) low = &box;
            if (low != nullptr && low->bound_ms < goal_ms()) lowest.push_back(low);
        }
        std::stable_sort(lowest.begin(), lowest.end(),
                         [](const Box* a, const Box* b) { return a->bound_ms < b->bound_ms; });
        if (lowest.size() > kTargets) lowest.resize(kTargets);
        std::vector<Box> targets;
        for (const Box* box : lowest) targets.push_back(*box);
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
        around.period_low = around.tail_low = around.bound_ms = 0;
        around.period_high *= kMostSlack;
        around.tail_high *= kMostSlack;
        relaxed_of(target.batches).raise(around, goal_ms(), kRounds);
        const Completion completion = relaxed_of(target.batches).completion(around);
        for (const double slack : kSlacks) {
            around.period_high = target.period_high * slack;
            around.tail_high = target.tail_high * slack;
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
        std::vector<Box> bands = bands_of(target);
        std::vector<std::size_t> orders(ranks_.size());
        std::iota(orders.begin(), orders.end(), std::size_t{0});
        for (Box& band : bands) {
            if (stopped() || closed()) return;
            RelaxedStages& relaxed = relaxed_of(target.batches);
            if (band.bound_ms >= goal_ms()) continue;
            const Completion completion = relaxed.completion(band);
            for (const std::size_t order : orders)
                if (!stopped() && !closed()) run_beam(order, band, width, completion, true);
            keep_best(orders, target.batches);
        }
    }

    std::vector<Box> bands_of(const Box& target) {
        double low = kInfinite;
        double high = 0;
        for (const Box& box : boxes_)
            if (box.batches == target.batches && box.bound_ms < goal_ms()) {
                low = std::min(low, std::max(box.period_low, box.period_high / 2));
                high = std::max(high, box.period_high);
            }
        std::vector<Box> bands;
        for (double from = low; from < high && !stopped(); from *= kBand) {
            Box band = target;
            band.period_low = from;
            band.period_high = from * kBand;
            band.tail_low = 0;
            band.tail_high = best_ms();
            band.bound_ms = 0;
            for (std::size_t turn = 0; turn < 2; ++turn) {
                relaxed_of(target.batches).raise(band, goal_ms(), kRounds);
                band.tail_high = std::min(band.tail_high, best_ms() - band.bound_ms);
            }
            if (band.bound_ms < goal_ms()) bands.push_back(std::move(band));
        }
        std::stable_sort(bands.begin(), bands.end(),
                         [](const Box& a, const Box& b) { return a.bound_ms < b.bound_ms; });
        if (bands.size() > kBands) bands.resize(kBands);
        return bands;
    }

    void run_beam(std::size_t order, const Box& around, std::uint32_t width, const Completion& completion,
                  bool inside) {
        StageOptions& options = options_of(order, around.batches);
        BeamLimits limits;
        limits.width = width;
        limits.unit = unit_;
        limits.period_ms = around.period_high;
        limits.tail_ms = around.tail_high;
        limits.incumbent_ms = inside ? best_ms() : kInfinite;
        limits.stop = limits_->stop;
        limits.completion = &completion;
        limits.ranks = ranks_[order].get();
        if (inside) {
            limits.owed_ms = owed_ms(*ranks_[order], around.multipliers);
            limits.least_period_ms = around.period_low;
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
            const FoundPlan plan = plans_.front();
            const auto same = [&](const std::unique_ptr<Ranks>& order) {
                return order->sequence() == plan.sequence;
            };
            const auto order = std::find_if(ranks_.begin(), ranks_.end(), same) - ranks_.begin();
            StageOptions& options = options_of(static_cast<std::size_t>(order), plan.batches);
            const auto [period_ms, tail_ms] = longest_of(*problem_, plan, options);
            const auto groups = groups_near(plan);
            for (const double slack : kPolished) {
                BeamLimits limits;
                limits.width = kPolishedWidth;
                limits.period_ms = period_ms * slack;
                limits.tail_ms = tail_ms;
                limits.incumbent_ms = best_ms();
                limits.stop = limits_->stop;
                limits.groups = &groups;
                if (!stopped()) take(beam(*problem_, options, plan.sequence, limits));
            }
        }
    }

    double best_of(std::size_t order, std::uint64_t batches) const {
        for (const FoundPlan& plan : plans_)
            if (plan.batches == batches && plan.sequence == ranks_[order]->sequence()) return plan.cost_ms;
        return kInfinite;
    }

    static bool later(const Box& a, const Box& b) { return a.bound_ms > b.bound_ms; }
    void push(Box box) {
        boxes_.push_back(std::move(box));
        std::push_heap(boxes_.begin(), boxes_.end(), later);
    }

    /// Until the lowest box is narrower than `least`, relative to the best plan.
    void split_boxes(std::uint64_t most, double least) {
        most = std::min(most, limits_->boxes);
        for (std::uint64_t done = 0; !closed() && !stopped() && boxes_.size() < most; ++done) {
            if (done % kBoxesPerTurn == kBoxesPerTurn - 1) report();
            std::pop_heap(boxes_.begin(), boxes_.end(), later);
            const Box box = std::move(boxes_.back());
            boxes_.pop_back();
            const double further = static_cast<double>(box.batches - 1);
            const double period = further * (box.period_high - box.period_low);
            const double tail = box.tail_high - box.tail_low;
            if (std::max(period, tail) < least * best_ms()) {
                push(box);
                return;
            }
            Box low = box;
            Box high = box;
            if (period >= tail)
                low.period_high = high.period_low = (box.period_low + box.period_high) / 2;
            else
                low.tail_high = high.tail_low = (box.tail_low + box.tail_high) / 2;
            for (Box* half : {&low, &high}) {
                relaxed_of(box.batches).raise(*half, goal_ms(), kRounds);
                push(std::move(*half));
            }
        }
    }

    RelaxedStages& relaxed_of(std::uint64_t batches) {
        const auto place = std::find(batches_.begin(), batches_.end(), batches) - batches_.begin();
        return *relaxed_[static_cast<std::size_t>(place)];
    }

    const Problem* problem_;
    const AnytimeLimits* limits_;
    LayerTables tables_;
    std::vector<std::unique_ptr<Ranks>> ranks_;
    std::vector<std::uint64_t> batches_;
    std::vector<std::unique_ptr<RelaxedStages>> relaxed_;
    std::vector<double> scratch_;                                            ///< of the relaxed stages
    std::map<std::pair<std::size_t, std::uint64_t>, StageOptions> options_;  ///< by order and micro-batches
    std::uint32_t unit_ = 1;
    double sample_ms_ = 0;
    double root_ms_ = kInfinite;
    std::vector<FoundPlan> plans_;
    std::vector<Box> boxes_;
    double polished_ms_ = kInfinite;  ///< the best plan when beams last were among its groups
    std::uint64_t beams_ = 0;
};

}  // namespace

AnytimeResult search_anytime(const Problem& problem, const std::vector<std::vector<std::uint32_t>>& sequences,
                             const AnytimeLimits& limits) {
    return Anytime(problem, sequences, limits).run();
}

}  // namespace dse::planner::exact
