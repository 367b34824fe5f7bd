// The relaxed strict problem: any order of stages and types, GPUs of a type as a budget with a price.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "planner/exact/ranks.hpp"
#include "planner/exact/stages.hpp"
#include "planner/problem.hpp"

namespace dse::planner::exact {

/// Plans whose longest stage time, and largest update and reduction, are in a box.
struct Box {
    std::uint64_t batches = 0;
    double period_low = 0, period_high = 0;
    double tail_low = 0, tail_high = 0;
    std::vector<double> multipliers;  ///< ms per type: the price of all of its GPUs
    double bound_ms = 0;
};

/// Best-case bandwidths of groups of one type, over all type sequences and all aligned places.
struct BestPlaces {
    /// [type][log2 GPUs]; 0: no such group
    std::vector<std::vector<double>> link_gbps;
    /// [type][log2 GPUs][log2 tp]
    std::vector<std::vector<std::vector<double>>> reduction_gbps;
};

BestPlaces best_places(const Problem& problem, const std::vector<std::unique_ptr<Ranks>>& ranks);

/// Bounds for one number of micro-batches: the cheapest cover of the layers at given prices of GPUs.
class RelaxedStages {
public:
    RelaxedStages(const Problem& problem, const std::vector<std::unique_ptr<Ranks>>& ranks,
                  const BestPlaces& places, LayerTables& tables, std::uint64_t batches);

    /// The box of all plans below `best_ms`.
    Box root(double best_ms) const;

    /// Raises the bound of a box towards `target_ms` by the ellipsoid method with deep cuts (Shor 1977;
    /// Bland, Goldfarb and Todd 1981); keeps the multipliers that prove it.
    void raise(Box& box, double target_ms, std::uint32_t rounds);

private:
    struct Way {
        std::uint32_t kind = 0;  ///< index of `uses_`
        const double* execution_ms = nullptr;
        const double* tail_bytes = nullptr;
        double tail_per_byte = 0;
        double link_ms = 0;
        double gap_ms = 0;
        std::vector<std::uint8_t> fits;
    };
    /// A mixed group: least time and least tail of all ways, each for itself.
    struct MixedWay {
        std::uint32_t kind = 0;
        std::vector<double> period_ms;  ///< execution and link
        std::vector<double> sum_ms;     ///< and the gap, of the last stage
        std::vector<double> tail_ms;
    };

    void set_cells(const Problem& problem);
    void add_pure(const Problem& problem, const BestPlaces& places, LayerTables& tables, const Ranks& any);
    void add_mixed(const Problem& problem, const std::vector<std::unique_ptr<Ranks>>& ranks,
                   LayerTables& tables);
    std::uint32_t kind_of(const std::vector<double>& use);
    void fold(const Box& box);
    /// The value of the relaxation; `excess` is use over budget, relative, per type.
    double value(const std::vector<double>& multipliers, std::vector<double>& excess);

    std::uint32_t layers_;
    std::uint64_t batches_;
    double generators_ms_ = kInfinite;
    double least_gap_ms_ = 0;
    std::vector<double> budget_;             ///< GPUs per type
    std::vector<std::vector<double>> uses_;  ///< per kind: share of each type's GPUs
    std::vector<Way> ways_;
    std::vector<MixedWay> mixed_;
    /// Ranges of layers that cost the same, whatever the profile, are one cell: the position of one of them.
    std::vector<std::uint32_t> cells_;
    std::vector<std::uint32_t> cell_of_;       ///< by first * (layers + 1) + end
    std::vector<std::vector<double>> folded_;  ///< per kind: least time by cell, in the box
    std::vector<char> usable_;                 ///< per kind
    std::vector<double> cheapest_;             ///< scratch
};

}  // namespace dse::planner::exact
