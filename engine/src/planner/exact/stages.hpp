// The costs of stages for a type sequence and a number of micro-batches: a table per way to use a group.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

#include "planner/exact/layer_tables.hpp"
#include "planner/exact/ranks.hpp"
#include "planner/problem/problem.hpp"

namespace dse::planner::exact {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Terms of a stage by layers [first, end), at first * (layers + 1) + end. Where none is in flight that fits,
/// the other terms mean nothing.
struct StageTable {
    const double* execution_ms = nullptr;       ///< null: such a stage cannot be
    std::vector<std::uint16_t> most_in_flight;  ///< micro-batches in flight that fit; 0: none
    double optimizer_ms = 0;                    ///< of the whole model
    double reduction_ms_per_byte = 0;
    const double* share = nullptr;  ///< of the model
    const double* bytes = nullptr;  ///< that a GPU reduces
    std::vector<double> longest;    ///< holds `execution_ms` of a mixed stage

    double update_ms(std::size_t at) const { return optimizer_ms * share[at]; }
    double reduction_ms(std::size_t at) const { return reduction_ms_per_byte * bytes[at]; }
    double tail_ms(std::size_t at) const { return update_ms(at) + reduction_ms(at); }
};

/// A group from a rank on, with a tensor degree.
struct StageOption {
    std::uint32_t gpus = 0;
    std::uint32_t tp = 0;
    const StageTable* table = nullptr;
    double gap_ms = kInfinite;  ///< over all micro-batches, if it is the last stage; infinite: unpriced
    double sent = 0;            ///< what a link carries: link_ms = sent / bandwidth
    double sent_logits = 0;     ///< the same for a cut before the last layer
    const double* link_bandwidth = nullptr;  ///< by log2 of the next group
    double least_link_ms = 0;                ///< over all next groups

    double link_ms(std::uint32_t log2_next, bool before_last_layer) const {
        return (before_last_layer ? sent_logits : sent) / link_bandwidth[log2_next];
    }
};

/// A stage of one type at the best place that there is for it.
struct RelaxedTerms {
    const double* execution_ms = nullptr;  ///< null: there is no such stage
    double sent_bytes = 0;
    double gap_ms = 0;
    double tail_per_byte = 0;                   ///< update and reduction, per byte of the stage's parameters
    std::vector<std::uint16_t> most_in_flight;  ///< as in a table, by cell: a position in tables
};

/// Makes the options of one type sequence and one number of micro-batches when they are asked for.
class StageOptions {
public:
    StageOptions(const Problem& problem, CostModel model, const Ranks& ranks, LayerTables& tables,
                 std::uint64_t batches);

    /// Options of a group; empty where it cannot be a stage. `gpus` is a power of two.
    const std::vector<StageOption>& at(std::uint32_t start, std::uint32_t gpus);

    RelaxedTerms relaxed(std::uint32_t type, std::uint32_t gpus, std::uint32_t tp, double reduction_gbps,
                         const std::vector<std::uint32_t>& cells);

    std::uint64_t batches() const { return batches_; }
    double batch_generator_ms() const { return batch_generator_ms_; }

private:
    /// A kind of replica: type, its share of a micro-batch, and the profile entries that it runs.
    struct Replica {
        std::uint32_t type = 0;
        std::uint64_t share = 0;
        std::vector<std::int32_t> parts;
    };
    /// The parts of the strict memory of a replica: sums over layers.
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
        double capacity_mb;  ///< compat only
    };
    /// The key of the table of a stage, besides the sequence and the number of micro-batches.
    struct TableKey {
        std::uint32_t dp, tp, last_first, first_end, type;
        double capacity_mb, reduction_gbps;
        std::vector<std::uint64_t> replicas;  ///< type and share of each, if mixed

        bool operator==(const TableKey&) const = default;
    };
    struct HashOfKey {
        std::size_t operator()(const TableKey& key) const;
    };
    /// Bandwidths of the links to the next group, by log2 of it, in what `StageOption::sent` counts, per ms.
    struct Links {
        std::vector<double> bandwidth;
        double best = 0;
    };

    void add(std::vector<StageOption>& options, const Shape& shape, const Links& links);
    /// `replicas` has one for a stage of one type, else none.
    bool replicas_of(const Shape& shape, std::vector<Replica>& replicas) const;
    bool split(const Shape& shape, std::uint32_t start, std::uint32_t gpus,
               std::vector<std::uint64_t>& dealt) const;
    double gap_of(const Shape& shape, const std::vector<Replica>& replicas) const;
    const StageTable* table_of(const Shape& shape, const std::vector<Replica>& replicas);
    void fill_execution(StageTable& table, const Shape& shape, const std::vector<Replica>& replicas);
    bool fill_compat(StageTable& table, const Shape& shape);
    bool set_memory(const Shape& shape, std::vector<const double*>& parts);
    void fill_strict(StageTable& table, const Shape& shape, const std::vector<Replica>& replicas);
    MemoryTerms memory_terms(const Replica& replica, const Shape& shape);
    double strict_bytes(const MemoryTerms& terms, const Shape& shape, std::size_t at,
                        std::uint64_t in_flight) const;
    std::uint16_t most_in_flight(std::span<const MemoryTerms> memory, const Shape& shape,
                                 std::size_t at) const;
    /// Updating all parameters; replicas that shard the optimizer's states update a share each.
    double optimizer_ms(std::uint32_t type, std::uint32_t log2_tp, std::uint32_t dp) const;
    const Links& links_of(std::uint32_t start, std::uint32_t gpus);
    void set_links(StageOption& option, const Shape& shape, const Links& links,
                   std::uint64_t largest_share) const;
    double capacity_mb(std::uint32_t start, std::uint32_t gpus) const;
    std::uint64_t batch_of(const Shape& shape) const { return problem_->model.gbs / (shape.dp * batches_); }

    const Problem* problem_;
    CostModel model_;
    const Ranks* ranks_;
    LayerTables* shared_;
    std::uint64_t batches_;
    std::uint32_t layers_;
    double batch_generator_ms_ = 0;
    std::unordered_map<std::uint64_t, std::vector<StageOption>> made_;
    std::unordered_map<TableKey, StageTable, HashOfKey> tables_;
    std::deque<Links> links_;
    std::vector<Replica> replicas_;  ///< scratch
};

}  // namespace dse::planner::exact
