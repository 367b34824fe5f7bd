// Outer plans: type sequences, stage counts, device groups and numbers of micro-batches.
#include "planner/walk/walk.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.hpp"
#include "planner/walk/groups.hpp"
#include "planner/walk/strategy_walk.hpp"

namespace dse::planner {

namespace {

constexpr std::uint32_t kMostLayers = 10'000;

/// Collects plans: all of them, or the cheapest in order.
class Collector {
public:
    Collector(const WalkOptions& options, WalkResult& result) : options_(options), result_(result) {}

    void take(EmittedPlan& plan) {
        plan.index = result_.plans++;
        if (options_.keep_all) return result_.table.append(plan);
        if (best_.size() == options_.keep_best && !(best_.size() && plan.cost_ms < best_.back().cost_ms))
            return;
        const auto cheaper = [](const EmittedPlan& a, const EmittedPlan& b) { return a.cost_ms < b.cost_ms; };
        best_.insert(std::upper_bound(best_.begin(), best_.end(), plan, cheaper), plan);
        if (best_.size() > options_.keep_best) best_.pop_back();
    }

    void finish() {
        for (const EmittedPlan& plan : best_) result_.table.append(plan);
    }

private:
    const WalkOptions& options_;
    WalkResult& result_;
    std::vector<EmittedPlan> best_;
};

std::vector<std::uint64_t> divisors_descending(std::uint64_t number) {
    std::vector<std::uint64_t> large, small;
    for (std::uint64_t i = 1; i <= number / i; ++i) {
        if (number % i != 0) continue;
        large.push_back(number / i);
        if (i != number / i) small.push_back(i);
    }
    large.insert(large.end(), small.rbegin(), small.rend());
    return large;
}

/// All outer plans of one type sequence.
class SequenceWalk {
public:
    SequenceWalk(const Problem& problem, const WalkOptions& options, const std::vector<std::uint32_t>& order,
                 const std::function<void()>& checkpoint, Collector& collector, WalkResult& result)
        : problem_(problem),
          sequence_(problem, order),
          table_(problem, sequence_),
          walk_(problem.model.weights, options.by_first_attempt),
          batches_(divisors_descending(problem.model.gbs)),
          checkpoint_(checkpoint),
          collector_(collector),
          result_(result) {
        plan_.sequence = static_cast<std::uint32_t>(result.sequences.size());
        result.sequences.push_back(order);
    }

    /// `costed` stages count in the cost; 0: all.
    void run(std::uint32_t stages, std::uint32_t costed) {
        const GroupRules rules{problem_.gpus(), problem_.options.group_scale,
                               problem_.options.permutation_limit};
        plan_.costed = costed == 0 ? stages : costed;
        for_each_groups(rules, stages, [&](Groups groups) {
            for (const std::uint64_t batches : batches_) run(groups, batches);
            return true;
        });
    }

private:
    void run(Groups groups, std::uint64_t batches) {
        ++result_.outer_plans;
        stages_.clear();
        plan_.log2_groups.clear();
        std::uint32_t start = 0;
        for (const std::uint32_t gpus : groups) {
            StageRanks& ranks = sequence_.stage(start, log2_of(gpus));
            stages_.push_back({&ranks, table_.choices(ranks, batches).data()});
            plan_.log2_groups.push_back(static_cast<std::uint8_t>(ranks.log2_gpus));
            start += gpus;
        }
        plan_.batches = batches;
        result_.count += walk_.run(table_, stages_, batches, checkpoint_,
                                   [&](const StrategyWalk::Found& found) { emit(found); });
    }

    void emit(const StrategyWalk::Found& found) {
        plan_.log2_tp.assign(found.log2_tp.begin(), found.log2_tp.end());
        plan_.bounds.assign(found.bounds.begin(), found.bounds.end());
        plan_.attempt = found.attempt;
        plan_.delta = found.delta;
        if (price(problem_, sequence_, stages_, plan_))
            collector_.take(plan_);
        else
            ++result_.unpriced;
    }

    const Problem& problem_;
    Sequence sequence_;
    ChoiceTable table_;
    StrategyWalk walk_;
    std::vector<std::uint64_t> batches_;
    const std::function<void()>& checkpoint_;
    Collector& collector_;
    WalkResult& result_;
    std::vector<WalkStage> stages_;
    EmittedPlan plan_;
};

void check_start(const Problem& problem) {
    const std::uint32_t gpus = problem.gpus();
    for (const Host& host : problem.hosts)
        if (host.gpus != problem.hosts.front().gpus)
            throw InputError("the walk takes hosts of one size, but one has " +
                             std::to_string(problem.hosts.front().gpus) + " GPUs and another " +
                             std::to_string(host.gpus) + "; use planner=exact with cost=strict");
    if (problem.layers() < 2 || problem.layers() > kMostLayers)
        throw InputError("the walk takes models of 2 layers, an embedding and an output head, to " +
                         std::to_string(kMostLayers) + "; got " + std::to_string(problem.layers()));
    const GroupRules rules{gpus, problem.options.group_scale, problem.options.permutation_limit};
    if (!has_groups(rules, 1))
        throw InputError("the walk cannot start with one stage of all " + std::to_string(gpus) +
                         " GPUs: their number must be a power of two, and group_scale at most 1, got " +
                         std::to_string(problem.options.group_scale));
}

}  // namespace

WalkResult walk(const Problem& problem, const WalkOptions& options, const Checkpoint& checkpoint) {
    check_start(problem);
    WalkResult result;
    Collector collector(options, result);
    const std::function<void()> look = [&] { checkpoint(); };
    const GroupRules rules{problem.gpus(), problem.options.group_scale, problem.options.permutation_limit};
    const std::uint32_t most_stages = std::min(problem.gpus(), problem.layers());
    std::vector<std::uint32_t> order(problem.types.size());
    std::iota(order.begin(), order.end(), 0U);
    do {
        SequenceWalk sequence(problem, options, order, look, collector, result);
        const bool first = result.sequences.size() == 1;
        if (first) {
            sequence.run(1, 0);
        } else {
            std::uint32_t stages = 2;
            while (stages <= most_stages && !has_groups(rules, stages)) ++stages;
            if (stages <= most_stages) sequence.run(stages, 1);
        }
        for (std::uint32_t stages = 2; stages <= most_stages; ++stages) sequence.run(stages, 0);
    } while (std::next_permutation(order.begin(), order.end()));
    collector.finish();
    return result;
}

}  // namespace dse::planner
