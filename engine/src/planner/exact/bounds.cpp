// The passes of the prefix bounds.
#include "planner/exact/bounds.hpp"

#include <algorithm>
#include <bit>

namespace dse::planner::exact {

std::uint32_t least_power(std::uint32_t least) { return std::bit_ceil(std::max(1U, least)); }

PrefixBounds::PrefixBounds(const Problem& problem, CostModel model, StageOptions& options, const Block& block,
                           const std::function<bool()>& stop)
    : gpus_(problem.gpus()),
      layers_(problem.layers()),
      unit_(least_power(block.least_group)),
      starts_(gpus_ / unit_ + 1),
      least_(unit_),
      fewest_(block.stages.front()),
      most_(block.stages.back()) {
    const std::size_t size = std::size_t{most_ + 1} * starts_ * (layers_ + 1);
    if (gpus_ % unit_ != 0) return;  // groups are multiples of the least one
    sum_.assign(size, kInfinite);
    max_.assign(size, kInfinite);
    sum_[index(0, 0, 0)] = max_[index(0, 0, 0)] = 0;
    pass(model, options, stop);
    if (!stopped_) finish(problem, options, block);
}

void PrefixBounds::pass(CostModel model, StageOptions& options, const std::function<bool()>& stop) {
    const std::size_t width = layers_ + 1;
    std::vector<double> least_sum(width * width);
    std::vector<double> least_max(width * width);
    for (std::uint32_t start = 0; start < gpus_; start += unit_)
        for (std::uint32_t size = least_; start + size <= gpus_; size *= 2) {
            if (!may_start(model, start, size)) continue;
            const std::uint32_t next = start + size;
            const std::uint32_t earliest = next == gpus_ ? fewest_ : 1;
            const std::uint32_t low = std::max<std::uint32_t>(earliest, 1) - 1;
            const std::uint32_t high = std::min(most_ - 1, start / least_);
            bool reached = false;
            for (std::uint32_t i = low; i <= high && !reached; ++i)
                for (std::uint32_t a = 0; a < layers_ && !reached; ++a)
                    reached = sum_[index(i, start, a)] < kInfinite;
            if (!reached) continue;
            if (stop && stop()) {
                stopped_ = true;
                return;
            }
            const std::vector<StageOption>& ways = options.at(start, size);
            if (ways.empty()) continue;
            const bool last = next == gpus_;
            std::fill(least_sum.begin(), least_sum.end(), kInfinite);
            std::fill(least_max.begin(), least_max.end(), kInfinite);
            for (const StageOption& way : ways) {
                if (last && way.gap_ms == kInfinite) continue;
                const double extra = last ? way.gap_ms : way.least_link_ms;
                const double inside = last || model == CostModel::compat ? 0.0 : way.least_link_ms;
                const StageTable& table = *way.table;
                for (std::uint32_t a = 0; a < layers_; ++a)
                    for (std::size_t at = a * width + (last ? layers_ : a + 1);
                         at <= a * width + (last ? layers_ : layers_ - 1); ++at) {
                        if (table.most_flying[at] == 0) continue;
                        const double ms = table.execution_ms[at];
                        least_sum[at] = std::min(least_sum[at], ms + extra);
                        least_max[at] = std::min(least_max[at], ms + inside);
                    }
            }
            for (std::uint32_t i = low; i <= high; ++i)
                for (std::uint32_t a = i; a < layers_; ++a) {
                    const double sum = sum_[index(i, start, a)];
                    if (sum == kInfinite) continue;
                    const double longest = max_[index(i, start, a)];
                    double* to_sum = &sum_[index(i + 1, next, 0)];
                    double* to_max = &max_[index(i + 1, next, 0)];
                    const double* row_sum = &least_sum[a * width];
                    const double* row_max = &least_max[a * width];
                    for (std::uint32_t b = last ? layers_ : a + 1; b <= layers_; ++b) {
                        to_sum[b] = std::min(to_sum[b], sum + row_sum[b]);
                        to_max[b] = std::min(to_max[b], std::max(longest, row_max[b]));
                    }
                }
        }
}

void PrefixBounds::finish(const Problem& problem, StageOptions& options, const Block& block) {
    const auto further = static_cast<double>(options.batches() - 1);
    const double generators = options.batch_generator_ms() * static_cast<double>(options.batches());
    for (const std::uint32_t count : block.stages) {
        const std::size_t at = index(count, problem.gpus(), layers_);
        if (sum_[at] < kInfinite) root_ms_ = std::min(root_ms_, further * max_[at] + sum_[at] + generators);
    }
    before_sum_.assign(sum_.size(), kInfinite);
    before_max_.assign(sum_.size(), kInfinite);
    const std::size_t plane = std::size_t{starts_} * (layers_ + 1);
    for (std::uint32_t suffix = 1; suffix <= most_; ++suffix)
        for (const std::uint32_t count : block.stages) {
            if (count < suffix) continue;
            const std::size_t from = (count - suffix) * plane;
            for (std::size_t i = 0; i < plane; ++i) {
                before_sum_[suffix * plane + i] = std::min(before_sum_[suffix * plane + i], sum_[from + i]);
                before_max_[suffix * plane + i] = std::min(before_max_[suffix * plane + i], max_[from + i]);
            }
        }
}

}  // namespace dse::planner::exact
