// The passes of the prefix bounds.
#include "planner/exact/bounds.hpp"

#include <algorithm>
#include <bit>

namespace dse::planner::exact {

std::uint32_t least_power(std::uint32_t least) { return std::bit_ceil(std::max(1U, least)); }

void StageRows::assign(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& ranges,
                       std::size_t width) {
    width_ = width;
    std::size_t size = 0;
    for (const auto& [low, high] : ranges) {
        ranges_.push_back({low, high, size});
        if (low <= high) size += (high - low + 1) * width;
    }
    values_.assign(size, kInfinite);
}

PrefixBounds::PrefixBounds(const Problem& problem, CostModel model, StageOptions& options, const Block& block,
                           const std::function<bool()>& stop)
    : gpus_(problem.gpus()),
      layers_(problem.layers()),
      unit_(least_power(block.least_group)),
      fewest_(block.stages.front()),
      most_(block.stages.back()) {
    if (gpus_ % unit_ != 0) return;  // groups are multiples of the least one
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
    for (std::uint32_t start = 0; start <= gpus_ / unit_; ++start)
        ranges.emplace_back(low(start), high(start));
    sum_.assign(ranges, layers_ + 1);
    max_.assign(ranges, layers_ + 1);
    *sum_.at(0, 0) = *max_.at(0, 0) = 0;
    pass(model, options, stop);
    if (stopped_) return;
    const auto further = static_cast<double>(options.batches() - 1);
    const double generators = options.batch_generator_ms() * static_cast<double>(options.batches());
    for (const std::uint32_t count : block.stages) {
        const double* sum = sum_.at(count, gpus_ / unit_);
        if (sum == nullptr || sum[layers_] == kInfinite) continue;
        const double longest = max_.at(count, gpus_ / unit_)[layers_];
        root_ms_ = std::min(root_ms_, further * longest + sum[layers_] + generators);
    }
}

std::uint32_t PrefixBounds::low(std::uint32_t start) const {
    const std::uint32_t after = gpus_ / unit_ - start;  // the most stages that can follow
    return std::max(start > 0 ? 1U : 0U, fewest_ > after ? fewest_ - after : 0U);
}

std::uint32_t PrefixBounds::high(std::uint32_t start) const {
    return std::min(start < gpus_ / unit_ ? most_ - 1 : most_, start);
}

void PrefixBounds::pass(CostModel model, StageOptions& options, const std::function<bool()>& stop) {
    const std::size_t width = layers_ + 1;
    std::vector<double> least_sum(width * width);
    std::vector<double> least_max(width * width);
    for (std::uint32_t start = 0; start < gpus_; start += unit_)
        for (std::uint32_t size = unit_; start + size <= gpus_; size *= 2) {
            if (!may_start(model, start, size)) continue;
            const std::uint32_t next = start + size;
            const std::uint32_t from = start / unit_;
            const std::uint32_t to = next / unit_;
            if (high(to) == 0) continue;
            const std::uint32_t fewest = std::max(low(from), low(to) - 1);
            const std::uint32_t most = std::min(high(from), high(to) - 1);
            std::uint32_t first = layers_;  // the layers that are reached are within first … final
            std::uint32_t final = 0;
            for (std::uint32_t i = fewest; i <= most; ++i) {
                const double* sum = sum_.at(i, from);
                for (std::uint32_t a = i; a < layers_; ++a) {
                    if (sum[a] == kInfinite) continue;
                    first = std::min(first, a);
                    final = std::max(final, a);
                }
            }
            if (first == layers_) continue;
            if (stop && stop()) {
                stopped_ = true;
                return;
            }
            const std::vector<StageOption>& ways = options.at(start, size);
            if (ways.empty()) continue;
            const bool last = next == gpus_;
            const std::uint32_t end = last ? layers_ : layers_ - 1;
            for (std::uint32_t a = first; a <= final; ++a) {
                std::fill_n(&least_sum[a * width], width, kInfinite);
                std::fill_n(&least_max[a * width], width, kInfinite);
            }
            for (const StageOption& way : ways) {
                if (last && way.gap_ms == kInfinite) continue;
                const double extra = last ? way.gap_ms : way.least_link_ms;
                const double inside = last || model == CostModel::compat ? 0.0 : way.least_link_ms;
                const StageTable& table = *way.table;
                for (std::uint32_t a = first; a <= final; ++a)
                    for (std::size_t at = a * width + (last ? layers_ : a + 1); at <= a * width + end; ++at) {
                        if (table.most_in_flight[at] == 0) continue;
                        const double ms = table.execution_ms[at];
                        least_sum[at] = std::min(least_sum[at], ms + extra);
                        least_max[at] = std::min(least_max[at], ms + inside);
                    }
            }
            for (std::uint32_t i = fewest; i <= most; ++i) {
                const double* from_sum = sum_.at(i, from);
                const double* from_max = max_.at(i, from);
                double* to_sum = sum_.at(i + 1, to);
                double* to_max = max_.at(i + 1, to);
                for (std::uint32_t a = std::max(first, i); a <= final; ++a) {
                    const double sum = from_sum[a];
                    if (sum == kInfinite) continue;
                    const double longest = from_max[a];
                    const double* row_sum = &least_sum[a * width];
                    const double* row_max = &least_max[a * width];
                    for (std::uint32_t b = last ? layers_ : a + 1; b <= end; ++b) {
                        to_sum[b] = std::min(to_sum[b], sum + row_sum[b]);
                        to_max[b] = std::min(to_max[b], std::max(longest, row_max[b]));
                    }
                }
            }
        }
}

void PrefixBounds::turn(const Block& block) {
    const std::uint32_t starts = gpus_ / unit_ + 1;
    const std::size_t width = layers_ + 1;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
    for (std::uint32_t start = 0; start < starts; ++start)
        if (low(start) > high(start) || high(start) == most_)
            ranges.emplace_back(1, 0);
        else
            ranges.emplace_back(std::max(1U, fewest_ - std::min(fewest_, high(start))), most_ - low(start));
    before_sum_.assign(ranges, width);
    before_max_.assign(ranges, width);
    for (std::uint32_t start = 0; start < starts; ++start)
        for (std::uint32_t suffix = ranges[start].first; suffix <= ranges[start].second; ++suffix) {
            double* to_sum = before_sum_.at(suffix, start);
            double* to_max = before_max_.at(suffix, start);
            for (const std::uint32_t count : block.stages) {
                const double* sum = count < suffix ? nullptr : sum_.at(count - suffix, start);
                if (sum == nullptr) continue;
                const double* longest = max_.at(count - suffix, start);
                for (std::size_t layer = 0; layer < width; ++layer) {
                    to_sum[layer] = std::min(to_sum[layer], sum[layer]);
                    to_max[layer] = std::min(to_max[layer], longest[layer]);
                }
            }
        }
}

}  // namespace dse::planner::exact
