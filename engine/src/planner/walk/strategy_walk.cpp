// Steps, attempts at a partition, and the choice of the next stage.
#include "planner/walk/strategy_walk.hpp"

#include "planner/walk/rebalance.hpp"

namespace dse::planner {

namespace {

constexpr std::uint32_t kAttempts = 3;
constexpr std::uint32_t kFailed = 0;

}  // namespace

std::uint64_t StrategyWalk::run(ChoiceTable& table, std::span<const WalkStage> stages, std::uint64_t batches,
                                const std::function<void()>& checkpoint, const TakeFound& take) {
    table_ = &table;
    stages_ = stages;
    batches_ = batches;
    counted_ = 0;
    log2_tp_.assign(stages.size(), 0);
    capacity_mb_.clear();
    for (const WalkStage& stage : stages) capacity_mb_.push_back(stage.ranks->capacity_mb);
    first_mb_.clear();
    last_mb_.clear();
    std::uint64_t count = 0;
    do {
        checkpoint();
        if (!valid()) continue;
        const std::uint32_t attempt = evaluate();
        if (attempt == kFailed) continue;
        take({log2_tp_, bounds_, attempt, counted_});
        count += counted_;
        counted_ = 0;
        if (attempt == 1) break;
    } while (step());
    return count;
}

/// Halves the replicas of the next stage; false: every stage has one.
bool StrategyWalk::step() {
    ++counted_;
    const std::size_t stage = next_stage();
    if (stage == stages_.size()) return false;
    ++log2_tp_[stage];
    return true;
}

/// The stage with more than one replica and the least memory to spare, or else the most replicas.
std::size_t StrategyWalk::next_stage() const {
    const std::vector<double>& memory = by_first_attempt_ && !first_mb_.empty() ? first_mb_ : last_mb_;
    std::size_t best = stages_.size();
    double least = 0;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
        const std::uint32_t log2_dp = stages_[i].choices[log2_tp_[i]].log2_dp;
        if (log2_dp == 0) continue;
        const double key = memory.empty() ? 1 / static_cast<double>(1U << log2_dp) : memory[i];
        if (best == stages_.size() || key < least) {
            best = i;
            least = key;
        }
    }
    return best;
}

bool StrategyWalk::valid() const {
    for (std::size_t i = 0; i < stages_.size(); ++i)
        if (!stages_[i].choices[log2_tp_[i]].valid) return false;
    return true;
}

/// Returns the attempt at a partition that fits in the memory, or kFailed.
std::uint32_t StrategyWalk::evaluate() {
    measure_performance();
    first_mb_.clear();
    last_mb_.clear();
    for (std::uint32_t attempt = 1;; ++attempt) {
        partitioner_.partition(shares_, bounds_);
        if (fits()) {
            last_mb_ = state_mb_;
            return attempt;
        }
        ++counted_;
        if (attempt == 1) first_mb_ = state_mb_;
        if (attempt == kAttempts || !rebalance(shares_, capacity_mb_, demand_mb_)) return kFailed;
    }
}

void StrategyWalk::measure_performance() {
    shares_.clear();
    double sum = 0;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
        shares_.push_back(table_->performance(*stages_[i].ranks, batches_, choice(i)));
        sum += shares_.back();
    }
    for (double& share : shares_) share /= sum;
}

bool StrategyWalk::fits() {
    bool all = true;
    demand_mb_.clear();
    state_mb_.clear();
    for (std::size_t i = 0; i < stages_.size(); ++i) {
        demand_mb_.push_back(
            table_->demand_mb(*stages_[i].ranks, batches_, choice(i), bounds_[i], bounds_[i + 1]));
        state_mb_.push_back(capacity_mb_[i] - demand_mb_[i]);
        all = all && !(state_mb_.back() < 0);
    }
    return all;
}

}  // namespace dse::planner
