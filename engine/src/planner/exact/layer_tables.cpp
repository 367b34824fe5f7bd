// The shared tables.
#include "planner/exact/layer_tables.hpp"

#include <algorithm>

namespace dse::planner::exact {

namespace {

constexpr std::size_t kMostDegrees = 64;

}  // namespace

LayerTables::LayerTables(const Problem& problem)
    : problem_(&problem),
      layers_(problem.layers()),
      ms_(problem.profiles.times.size()),
      memory_(problem.profiles.times.size()),
      alike_bytes_(kMostDegrees),
      split_bytes_(kMostDegrees) {
    for (const double bytes : problem.model.parameters_bytes) model_bytes_ += bytes;
}

const double* LayerTables::sums(Table& table, std::span<const double> values) const {
    if (table.empty()) {
        const std::size_t layers = values.size();
        table.assign((layers + 1) * (layers + 1), 0.0);
        for (std::size_t first = 0; first < layers; ++first) {
            double sum = 0;
            for (std::size_t end = first + 1; end <= layers; ++end)
                table[first * (layers + 1) + end] = sum += values[end - 1];
        }
    }
    return table.data();
}

template <typename Value>
const double* LayerTables::filled(Table& table, Value&& value) const {
    if (table.empty()) {
        const std::size_t width = std::size_t{layers_} + 1;
        table.assign(width * width, 0.0);
        for (std::uint32_t first = 0; first < layers_; ++first)
            for (std::uint32_t end = first + 1; end <= layers_; ++end)
                table[first * width + end] = value(first, end);
    }
    return table.data();
}

const double* LayerTables::share_of_layers() {
    const auto layers = static_cast<double>(layers_);
    return filled(share_of_layers_, [&](std::uint32_t first, std::uint32_t end) {
        return static_cast<double>(end - first) / layers;
    });
}

const double* LayerTables::alike_bytes(std::uint32_t log2_tp) {
    const std::vector<double>& parameters = problem_->model.parameters_bytes;
    const auto tp = static_cast<double>(std::uint64_t{1} << log2_tp);
    const double middle_bytes = parameters[std::min<std::size_t>(1, parameters.size() - 1)] / tp;
    return filled(alike_bytes_[log2_tp], [&](std::uint32_t first, std::uint32_t end) {
        double bytes = 0;
        auto middle = static_cast<double>(end - first);
        if (first == 0) {
            bytes += parameters.front() / tp;
            middle -= 1;
        }
        if (end == layers_) {
            bytes += parameters.back() / tp;
            middle -= 1;
        }
        return bytes + middle_bytes * middle;
    });
}

const double* LayerTables::share_of_bytes() {
    const double* bytes = parameters_bytes();
    return filled(share_of_bytes_, [&](std::uint32_t first, std::uint32_t end) {
        return bytes[std::size_t{first} * (layers_ + 1) + end] / model_bytes_;
    });
}

const double* LayerTables::split_bytes(std::uint32_t log2_tp) {
    const double* bytes = parameters_bytes();
    const auto tp = static_cast<double>(std::uint64_t{1} << log2_tp);
    return filled(split_bytes_[log2_tp], [&](std::uint32_t first, std::uint32_t end) {
        return bytes[std::size_t{first} * (layers_ + 1) + end] / tp;
    });
}

}  // namespace dse::planner::exact
