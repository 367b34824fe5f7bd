// The relaxed strict problem: stages in any order of types, GPUs of a type as a budget with a price.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "planner/exact/ranks.hpp"
#include "planner/exact/stages.hpp"
#include "planner/problem/problem.hpp"

namespace dse::planner::exact {

/// Plans whose longest stage time, and largest update and reduction, are in a box.
struct Box {
    std::uint64_t batches = 0;
    double period_low_ms = 0, period_high_ms = 0;
    double tail_low_ms = 0, tail_high_ms = 0;
    std::vector<double> multipliers;  ///< ms per type: the price of all of its GPUs
    double bound_ms = 0;
};

/// Best-case bandwidths of groups of one type, over all type sequences and all aligned places.
struct BestPlaces {
    std::vector<std::vector<std::uint8_t>> exists;  ///< [type][log2 GPUs]
    /// [type][log2 GPUs]: to a stage of the same type, and of another; 0: there is none
    std::vector<std::vector<double>> within_gbps;
    std::vector<std::vector<double>> across_gbps;
    /// [type][log2 GPUs][log2 tp]
    std::vector<std::vector<std::vector<double>>> reduction_gbps;
};

BestPlaces best_places(const Problem& problem, const std::vector<std::unique_ptr<Ranks>>& ranks);

/// At the prices of a box: what the stages before a suffix cost at least (its cost to go).
struct Completion {
    std::uint32_t most = 0;  ///< suffixes of more stages count as such of `most`
    std::size_t width = 0;   ///< layers + 1
    std::size_t types = 0;
    /// [stages of the suffix][type of its first, or any][its first layer], with the price of the GPUs
    std::vector<double> cost_ms;

    double at(std::uint32_t stages, std::size_t type, std::uint32_t layer) const {
        return cost_ms[(std::min(stages, most) * (types + 1) + type) * width + layer];
    }
};

/// Bounds for one number of micro-batches: the cheapest cover of the layers at given prices of GPUs. A stage
/// with k stages after it holds k + 1 micro-batches, as in a plan, and at most all; one before a stage of
/// another type sends over the best link between types.
class RelaxedStages {
public:
    /// `scratch` may be shared with others, as long as none works at the same time.
    RelaxedStages(const Problem& problem, const std::vector<std::unique_ptr<Ranks>>& ranks,
                  const BestPlaces& places, LayerTables& tables, std::uint64_t batches,
                  std::vector<double>& scratch);

    /// The box of all plans below `best_ms`.
    Box root(double best_ms) const;

    /// Raises the bound of a box towards `target_ms` by the ellipsoid method with deep cuts (Shor 1977;
    /// Bland, Goldfarb and Todd 1981); keeps the multipliers that prove it.
    void raise(Box& box, double target_ms, std::uint32_t rounds);

    Completion completion(const Box& box);

private:
    struct Way {
        std::uint32_t kind = 0;  ///< index of `uses_`
        const double* execution_ms = nullptr;
        const double* tail_bytes = nullptr;
        double tail_per_byte = 0;
        double within_ms = 0;  ///< sending to a stage of the same type, and of another
        double across_ms = 0;
        double gap_ms = 0;
        std::vector<std::uint16_t> most_in_flight;  ///< by cell
    };
    /// A mixed group: least time, least tail and least memory of all ways, each for itself.
    struct MixedWay {
        std::uint32_t kind = 0;
        std::vector<double> period_ms;  ///< execution and link
        std::vector<double> sum_ms;     ///< and the gap, of the last stage
        std::vector<double> tail_ms;
        std::vector<std::uint16_t> most_in_flight;
    };
    std::size_t table_of(std::size_t list) const {
        return type_of_use_[list / 2] + (type_of_use_[list / 2] < types() ? list % 2 * types() : types());
    }
    /// A time of a cell that up to `in_flight` micro-batches in flight allow.
    struct Step {
        std::uint32_t cell = 0;
        std::uint32_t in_flight = 0;
        double ms = 0;
    };

    void set_cells(const Problem& problem);
    void add_pure(const Problem& problem, const BestPlaces& places, LayerTables& tables, const Ranks& any);
    void add_mixed(const Problem& problem, const std::vector<std::unique_ptr<Ranks>>& ranks,
                   LayerTables& tables);
    std::uint32_t kind_of(const std::vector<double>& use);
    void fold(const Box& box);
    void keep_steps(std::vector<Step>& steps);
    /// The value of the relaxation, or minus infinity at prices that prove nothing; `excess` (a subgradient)
    /// is use over budget, relative, per type.
    double value(const std::vector<double>& multipliers, std::vector<double>& excess);
    /// Per kind, in ms.
    std::vector<double> prices(const std::vector<double>& multipliers) const;
    void set_least(const std::vector<double>& price);
    void set_before();
    void set_tables();
    void set_total();
    void clear(std::uint32_t stages);
    void set_row(std::uint32_t stages);
    void set_alike_row(std::uint32_t stages);
    void combine(std::uint32_t stages, std::uint32_t low, std::uint32_t high);
    void add_use(const std::vector<double>& price, std::vector<double>& excess) const;

    std::size_t types() const { return budget_.size(); }
    /// Tables of stages: of each type before the same type or at the end, of each before another, and mixed.
    std::size_t tables() const { return 2 * types() + 1; }
    /// The type of a table's stages; the number of types for mixed ones.
    std::size_t type_of(std::size_t table) const { return table < 2 * types() ? table % types() : types(); }
    /// Whether stages of a table can be before one of type `next`; it may be the number of types for any.
    bool may_precede(std::size_t table, std::size_t next) const {
        if (next == types() || table == 2 * types()) return true;
        return (table < types()) == (type_of(table) == next);
    }
    double least(std::size_t table, std::uint32_t in_flight, std::uint32_t first, std::uint32_t end) const {
        return (*least_)[(table * (most_ + 1) + in_flight) * cells_.size() +
                         cell_of_[first * (layers_ + 1) + end]];
    }
    /// `next` is the type of the stage after, or the number of types for any.
    double* before(std::uint32_t stages, std::size_t next) {
        return &before_[(stages * (types() + 1) + next) * (layers_ + 1)];
    }
    const double* before(std::uint32_t stages, std::size_t next) const {
        return &before_[(stages * (types() + 1) + next) * (layers_ + 1)];
    }
    std::uint32_t after(std::uint32_t stages) const { return std::min(stages + 1, most_); }

    std::uint32_t layers_;
    std::uint64_t batches_;
    std::uint32_t most_;  ///< micro-batches in flight: more than stages or micro-batches cannot be
    double generators_ms_ = kInfinite;
    double least_gap_ms_ = 0;
    std::vector<double> budget_;             ///< GPUs per type
    std::vector<std::vector<double>> uses_;  ///< per kind: share of each type's GPUs
    std::vector<std::size_t> type_of_use_;   ///< per kind: its type, or the number of types for mixed ones
    std::vector<Way> ways_;
    std::vector<MixedWay> mixed_;
    /// Ranges of layers that cost the same, whatever the profile, are one cell: the position of one of them.
    std::vector<std::uint32_t> cells_;
    std::vector<std::uint32_t> cell_of_;  ///< by first * (layers + 1) + end
    bool uniform_ = false;                ///< all layers but the ends are alike
    /// Per kind, before the same type and before another, by cell: those that the box allows.
    std::vector<std::vector<Step>> steps_;
    std::uint32_t longest_ = 0;     ///< layers of a stage that the box allows
    std::size_t active_ = 0;        ///< cells with so many layers or fewer
    std::vector<double>* least_;    ///< shared: [table][in_flight][cell]: least time and price
    std::vector<double> before_;    ///< [stages after][type after][end]: least time and price of [0, end)
    std::vector<double> cheapest_;  ///< scratch: [table][end]
};

}  // namespace dse::planner::exact
