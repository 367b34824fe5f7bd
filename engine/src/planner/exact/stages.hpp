// What stages cost for a type sequence and a number of micro-batches: a table per way to use a group.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "planner/exact/ranks.hpp"
#include "planner/problem.hpp"

namespace dse::planner::exact {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Sums of consecutive layers, each added afresh from its first layer, as the pricing rules do.
class SliceSums {
public:
    explicit SliceSums(const Problem& problem) : problem_(&problem) {}

    /// [first * (layers + 1) + end], of an entry of the profiles.
    const double* ms(std::int32_t entry) { return of(ms_, problem_->profiles.ms_of(entry), entry); }
    const double* memory_mb(std::int32_t entry) {
        return of(memory_, problem_->profiles.memory_mb_of(entry), entry);
    }
    const double* parameters_bytes() { return of(parameters_, problem_->model.parameters_bytes, 0); }

private:
    using Tables = std::unordered_map<std::int32_t, std::vector<double>>;
    const double* of(Tables& tables, std::span<const double> values, std::int32_t entry) const;

    const Problem* problem_;
    Tables ms_;
    Tables memory_;
    Tables parameters_;
};

/// Terms of a stage by layers [first, end), at first * (layers + 1) + end.
struct StageTable {
    std::vector<double> execution_ms;
    std::vector<double> update_ms;           ///< compat: update; strict: update and reduction
    std::vector<double> reduction_ms;        ///< compat only
    std::vector<std::uint16_t> most_flying;  ///< micro-batches in flight that fit; 0: none
};

/// A group from a rank on, with a tensor degree.
struct StageOption {
    std::uint32_t gpus = 0;
    std::uint32_t tp = 0;
    const StageTable* table = nullptr;
    double gap_ms = kInfinite;  ///< over all micro-batches, if it is the last stage; infinite: unpriced
    double sent = 0;            ///< what a link carries: link_ms = sent / bandwidth
    double sent_logits = 0;     ///< the same for a cut before the last layer
    std::vector<double> link_bandwidth;  ///< by log2 of the next group
    double least_link_ms = 0;            ///< over all next groups

    double link_ms(std::uint32_t log2_next, bool before_last_layer) const {
        return (before_last_layer ? sent_logits : sent) / link_bandwidth[log2_next];
    }
};

/// A stage of one type at the best place that there is for it.
struct RelaxedTerms {
    const double* execution_ms = nullptr;  ///< null: there is no such stage
    double link_ms = 0;
    double gap_ms = 0;
    double tail_per_byte = 0;        ///< update and reduction, per byte of the stage's parameters
    std::vector<std::uint8_t> fits;  ///< by cell: a position in tables
};

/// Makes the options of one type sequence and one number of micro-batches when they are asked for.
class StageOptions {
public:
    StageOptions(const Problem& problem, CostModel model, const Ranks& ranks, SliceSums& sums,
                 std::uint64_t batches);

    /// Options of a group; empty where it cannot be a stage. `gpus` is a power of two.
    const std::vector<StageOption>& at(std::uint32_t start, std::uint32_t gpus);

    RelaxedTerms relaxed(std::uint32_t type, std::uint32_t gpus, std::uint32_t tp, double link_gbps,
                         double reduction_gbps, const std::vector<std::uint32_t>& cells);

    std::uint64_t batches() const { return batches_; }
    double batch_generator_ms() const { return batch_generator_ms_; }

private:
    /// A kind of replica: type, its share of a micro-batch, and the profile entries that it runs.
    struct Replica {
        std::uint32_t type = 0;
        std::uint64_t share = 0;
        std::vector<std::int32_t> parts;
    };
    /// What the strict memory of a replica is made of: sums over layers.
    struct MemoryTerms {
        std::vector<const double*> parts;  ///< activations alone
        const double* parameters = nullptr;
        const double* total = nullptr;  ///< totals: of `batch`, and of two batches, `low` and twice that
        const double* low_total = nullptr;
        const double* high_total = nullptr;
        std::uint64_t share = 0;
        std::uint64_t batch = 0;
        std::uint64_t low = 0;
        double capacity = 0;
    };
    struct Shape {
        std::uint32_t start, gpus, dp, tp, log2_tp;
        bool pure;
        std::uint32_t last_first;  ///< the layers that it can begin with are 0 … last_first
        std::uint32_t first_end;   ///< those that can follow it are first_end … layers
        double reduction_gbps;
    };

    void add(std::vector<StageOption>& options, const Shape& shape);
    bool replicas_of(const Shape& shape, std::vector<Replica>& replicas) const;
    bool split(const Shape& shape, std::uint32_t start, std::uint32_t gpus,
               std::vector<std::uint64_t>& dealt) const;
    double gap_of(const Shape& shape, const std::vector<Replica>& replicas) const;
    const StageTable* table_of(const Shape& shape, const std::vector<Replica>& replicas);
    void fill_execution(StageTable& table, const Shape& shape, const std::vector<Replica>& replicas);
    bool fill_compat(StageTable& table, const Shape& shape);
    void fill_strict(StageTable& table, const Shape& shape, const std::vector<Replica>& replicas);
    MemoryTerms memory_terms(const Replica& replica, const Shape& shape);
    double strict_bytes(const MemoryTerms& terms, const Shape& shape, std::size_t at,
                        std::uint64_t flying) const;
    double optimizer_ms(std::uint32_t type, std::uint32_t log2_tp) const;
    void set_links(StageOption& option, const Shape& shape, std::uint64_t largest_share) const;
    double capacity_mb(const Shape& shape) const;
    std::uint64_t batch_of(const Shape& shape) const { return problem_->model.gbs / (shape.dp * batches_); }

    const Problem* problem_;
    CostModel model_;
    const Ranks* ranks_;
    SliceSums* sums_;
    std::uint64_t batches_;
    std::uint32_t layers_;
    double batch_generator_ms_ = 0;
    double model_bytes_ = 0;
    std::unordered_map<std::uint64_t, std::vector<StageOption>> made_;
    std::unordered_map<std::string, StageTable> tables_;
};

}  // namespace dse::planner::exact
