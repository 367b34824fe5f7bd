// Answers to the walk about a stage with a tensor degree: performance, memory demand, execution time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "planner/walk/sequence.hpp"
#include "planner/walk/slice_sums.hpp"

namespace dse::planner {

using Entries = std::vector<std::int32_t>;  ///< of profiles

/// Memory that one replica after the other of a mixed stage asks for; the same for all stages of a size.
class MixedDemand {
public:
    MixedDemand(std::vector<const SliceSums*> slices, std::uint32_t layers);
    double operator()(std::uint32_t a, std::uint32_t b);

private:
    double added(std::uint32_t a, std::uint32_t b) const;

    std::vector<const SliceSums*> slices_;
    std::size_t width_;
    std::vector<double> known_;  // NaN: not asked yet; empty: too many layers for a table
};

/// A stage with 2^log2_dp replicas of 2^log2_tp GPUs and B micro-batches.
struct StageChoice {
    std::uint32_t log2_dp = 0;
    std::uint32_t log2_tp = 0;
    std::uint64_t micro_batch = 0;
    bool valid = false;
    double performance = -1;                               ///< before it is made a share; -1: not asked yet
    const SliceSums* memory = nullptr;                     ///< of a stage of one type; null: not asked yet
    MixedDemand* mixed_memory = nullptr;                   ///< of a mixed one; null: not asked yet
    std::vector<std::vector<const SliceSums*>> execution;  ///< per different replica
    bool beyond_batches = false;                           ///< some replica runs a batch above the most
};

/// Choices of a stage for one number of micro-batches, by log2 of the tensor degree.
using StageChoices = std::vector<StageChoice>;

/// Choices of the stages of a sequence, each worked out when it is first asked for.
class ChoiceTable {
public:
    ChoiceTable(const Problem& problem, Sequence& sequence);

    StageChoices& choices(const StageRanks& stage, std::uint64_t batches);

    /// Throws InputError where a profile is missing, as the functions below do.
    double performance(const StageRanks& stage, std::uint64_t batches, StageChoice& choice);
    double demand_mb(const StageRanks& stage, std::uint64_t batches, StageChoice& choice, std::uint32_t a,
                     std::uint32_t b);
    /// Of layers a … b-1 in a micro-batch, in ms; only after `performance`.
    static double execution_ms(const StageChoice& choice, std::uint32_t a, std::uint32_t b);

private:
    std::int32_t entry(std::uint32_t type, std::uint32_t log2_tp, std::uint64_t batch) const;
    const SliceSums& time_of(std::int32_t entry);
    const SliceSums& memory_of(std::int32_t entry);
    double one_type_performance(const StageRanks& stage, StageChoice& choice);
    double mixed_performance(const StageRanks& stage, std::uint64_t batches, StageChoice& choice);
    MixedDemand& mixed_demand(const StageChoice& choice, std::uint64_t batches);
    std::vector<std::uint64_t> split(const std::uint32_t* types, std::uint32_t width, std::uint32_t replicas,
                                     std::uint32_t log2_tp, std::uint64_t batch) const;

    const Problem& problem_;
    Sequence& sequence_;
    std::vector<std::unique_ptr<SliceSums>> times_, memories_;  // per entry
    std::unordered_map<std::uint64_t, StageChoices> one_type_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, StageChoices> mixed_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, MixedDemand> mixed_demands_;
};

}  // namespace dse::planner
