// Tables over ranges of layers that all stages share: sums of profiles, shares of the model, bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/problem/problem.hpp"

namespace dse::planner::exact {

/// Tables by layers [first, end), at first * (layers + 1) + end. They are made when they are asked for.
class LayerTables {
public:
    explicit LayerTables(const Problem& problem);

    /// Sums of an entry of the profiles, each added afresh from its first layer, as the pricing rules do.
    const double* ms(std::int32_t entry) { return sums(ms_[at(entry)], problem_->profiles.ms_of(entry)); }
    const double* memory_mb(std::int32_t entry) {
        return sums(memory_[at(entry)], problem_->profiles.memory_mb_of(entry));
    }
    const double* parameters_bytes() { return sums(parameters_, problem_->model.parameters_bytes); }
    double model_bytes() const { return model_bytes_; }

    /// Compat: share of the layers, and bytes that a GPU reduces (layers alike but for the ends).
    const double* share_of_layers();
    const double* alike_bytes(std::uint32_t log2_tp);

    /// Strict: share of the parameters, and parameters of a GPU in bytes.
    const double* share_of_bytes();
    const double* split_bytes(std::uint32_t log2_tp);

private:
    using Table = std::vector<double>;
    static std::size_t at(std::int32_t entry) { return static_cast<std::size_t>(entry); }
    const double* sums(Table& table, std::span<const double> values) const;
    template <typename Value>
    const double* filled(Table& table, Value&& value) const;

    const Problem* problem_;
    std::uint32_t layers_;
    double model_bytes_ = 0;
    std::vector<Table> ms_;      ///< per entry
    std::vector<Table> memory_;  ///< per entry
    Table parameters_;
    Table share_of_layers_;
    Table share_of_bytes_;
    std::vector<Table> alike_bytes_;  ///< per log2 tp
    std::vector<Table> split_bytes_;  ///< per log2 tp
};

}  // namespace dse::planner::exact
