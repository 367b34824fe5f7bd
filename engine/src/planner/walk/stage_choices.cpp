// Performance by data balancing, memory demand and execution time of stages.
#include "planner/walk/stage_choices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "planner/walk/split.hpp"

namespace dse::planner {

namespace {

constexpr double kLeastMb = 0.001;
constexpr double kMemoryFactor = 5.0;

}  // namespace

MixedDemand::MixedDemand(std::vector<const SliceSums*> slices, std::uint32_t layers)
    : slices_(std::move(slices)), width_(layers + 1) {
    if (layers <= kMostLayersInTable)
        known_.assign(width_ * width_, std::numeric_limits<double>::quiet_NaN());
}

double MixedDemand::operator()(std::uint32_t a, std::uint32_t b) {
    if (known_.empty()) return added(a, b);
    double& known = known_[a * width_ + b];
    if (std::isnan(known)) known = added(a, b);
    return known;
}

double MixedDemand::added(std::uint32_t a, std::uint32_t b) const {
    double sum = kLeastMb;
    for (const SliceSums* slices : slices_) sum += kMemoryFactor * (*slices)(a, b);
    return sum;
}

ChoiceTable::ChoiceTable(const Problem& problem, Sequence& sequence)
    : problem_(problem),
      sequence_(sequence),
      times_(problem.profiles.times.size()),
      memories_(problem.profiles.times.size()) {}

StageChoices& ChoiceTable::choices(const StageRanks& stage, std::uint64_t batches) {
    StageChoices& choices =
        stage.mixed() ? mixed_[{stage.start, stage.log2_gpus, batches}]
                      : one_type_[(batches << 16U) + (std::uint64_t{stage.types[0]} << 8U) + stage.log2_gpus];
    if (!choices.empty()) return choices;
    const Options& options = problem_.options;
    for (std::uint32_t log2_tp = 0; log2_tp <= stage.log2_gpus; ++log2_tp) {
        StageChoice choice;
        choice.log2_tp = log2_tp;
        choice.log2_dp = stage.log2_gpus - log2_tp;
        choice.micro_batch = problem_.model.gbs / (batches << choice.log2_dp);
        choice.valid = choice.micro_batch >= 1 && choice.micro_batch <= options.max_batch &&
                       (std::uint64_t{1} << log2_tp) <= options.max_tp;
        choices.push_back(std::move(choice));
    }
    return choices;
}

double ChoiceTable::performance(const StageRanks& stage, std::uint64_t batches, StageChoice& choice) {
    if (choice.performance < 0)
        choice.performance =
            stage.mixed() ? mixed_performance(stage, batches, choice) : one_type_performance(stage, choice);
    return choice.performance;
}

double ChoiceTable::one_type_performance(const StageRanks& stage, StageChoice& choice) {
    const std::int32_t found = entry(stage.types[0], choice.log2_tp, choice.micro_batch);
    choice.execution = {{&time_of(found)}};
    return 1 / problem_.profiles.times[static_cast<std::size_t>(found)].total_ms;
}

double ChoiceTable::mixed_performance(const StageRanks& stage, std::uint64_t batches, StageChoice& choice) {
    const std::uint32_t width = 1U << choice.log2_tp;
    const std::uint32_t* types = sequence_.types().data() + stage.start;
    const auto shares =
        split(types, width, 1U << choice.log2_dp, choice.log2_tp, problem_.model.gbs / batches);
    std::set<std::pair<std::uint32_t, std::uint64_t>> seen;
    double slowest = 0;
    for (std::size_t replica = 0; replica < shares.size(); ++replica) {
        const std::uint32_t type = types[replica * width];
        if (shares[replica] == 0 || !seen.insert({type, shares[replica]}).second) continue;
        double time = 0;
        choice.execution.emplace_back();
        for_each_power(shares[replica], [&](std::uint64_t power) {
            const std::int32_t found = entry(type, choice.log2_tp, power);
            time += problem_.profiles.times[static_cast<std::size_t>(found)].total_ms;
            choice.execution.back().push_back(&time_of(found));
            if (power > problem_.options.max_batch) choice.beyond_batches = true;
        });
        slowest = std::max(slowest, time);
    }
    return slowest == 0 ? 0 : 1 / slowest;
}

double ChoiceTable::demand_mb(const StageRanks& stage, std::uint64_t batches, StageChoice& choice,
                              std::uint32_t a, std::uint32_t b) {
    if (stage.mixed()) {
        if (!choice.mixed_memory) choice.mixed_memory = &mixed_demand(choice, batches);
        return (*choice.mixed_memory)(a, b);
    }
    if (!choice.memory)
        choice.memory = &memory_of(entry(sequence_.order()[0], choice.log2_tp, choice.micro_batch));
    return kLeastMb + kMemoryFactor * (*choice.memory)(a, b);
}

/// The batch is split over replicas of the whole cluster, and the first type's memory counts for all.
MixedDemand& ChoiceTable::mixed_demand(const StageChoice& choice, std::uint64_t batches) {
    const auto [at, added] = mixed_demands_.try_emplace({choice.log2_dp, choice.log2_tp, batches},
                                                        std::vector<const SliceSums*>{}, 0);
    if (!added) return at->second;
    const auto gpus = static_cast<std::uint32_t>(sequence_.types().size());
    const std::uint32_t replicas = 1U << choice.log2_dp;
    std::vector<const SliceSums*> slices;
    for (const std::uint64_t share : split(sequence_.types().data(), gpus / replicas, replicas,
                                           choice.log2_tp, problem_.model.gbs / batches))
        for_each_power(share, [&](std::uint64_t power) {
            slices.push_back(&memory_of(entry(sequence_.order()[0], choice.log2_tp, power)));
        });
    return at->second = MixedDemand(std::move(slices), problem_.layers());
}

double ChoiceTable::execution_ms(const StageChoice& choice, std::uint32_t a, std::uint32_t b) {
    double slowest = 0;
    for (const auto& replica : choice.execution) {
        double time = 0;
        for (const SliceSums* slices : replica) time += (*slices)(a, b);
        slowest = std::max(slowest, time);
    }
    return slowest;
}

/// Replica r is as fast as the type of its first rank, r * width, is with batch 1.
std::vector<std::uint64_t> ChoiceTable::split(const std::uint32_t* types, std::uint32_t width,
                                              std::uint32_t replicas, std::uint32_t log2_tp,
                                              std::uint64_t batch) const {
    std::vector<double> speeds;
    for (std::uint32_t replica = 0; replica < replicas; ++replica) {
        const std::int32_t found = entry(types[std::size_t{replica} * width], log2_tp, 1);
        speeds.push_back(1 / problem_.profiles.times[static_cast<std::size_t>(found)].total_ms);
    }
    return split_batch(speeds, batch);
}

std::int32_t ChoiceTable::entry(std::uint32_t type, std::uint32_t log2_tp, std::uint64_t batch) const {
    const std::int32_t found = problem_.profiles.find(type, log2_tp, batch);
    if (found == kMissing)
        throw InputError("no profile of " + problem_.types[type] + " tp " +
                         std::to_string(std::uint64_t{1} << log2_tp) + " batch " + std::to_string(batch) +
                         ", which the walk asks for; add it, or lower max_tp or max_batch");
    return found;
}

const SliceSums& ChoiceTable::time_of(std::int32_t entry) {
    auto& slices = times_[static_cast<std::size_t>(entry)];
    if (!slices) slices = std::make_unique<SliceSums>(problem_.profiles.ms_of(entry));
    return *slices;
}

const SliceSums& ChoiceTable::memory_of(std::int32_t entry) {
    auto& slices = memories_[static_cast<std::size_t>(entry)];
    if (!slices) slices = std::make_unique<SliceSums>(problem_.profiles.memory_mb_of(entry));
    return *slices;
}

}  // namespace dse::planner
