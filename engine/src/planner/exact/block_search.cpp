// Labels, cell by cell.
#include "planner/exact/block_search.hpp"

#include <algorithm>

namespace dse::planner::exact {

namespace {

/// A suffix of stages: Σ and maxima of its terms. Under strict `update` holds update and reduction.
struct Label {
    double sum = 0;
    double longest = 0;
    double update = 0;
    double reduction = 0;
    std::int32_t parent = -1;
    std::uint32_t gpus = 0;
    std::uint32_t tp = 0;
    std::uint32_t end = 0;

    bool dominates(const Label& other) const {
        return sum <= other.sum && longest <= other.longest && update <= other.update &&
               reduction <= other.reduction;
    }
};

/// Labels of suffixes that begin at one rank and layer with a group of one size.
struct Cell {
    std::uint32_t start = 0;
    std::uint32_t layer = 0;
    std::uint32_t log2_gpus = 0;
    std::vector<std::uint32_t> labels;
};

/// Labels of one block.
class BlockSearch {
public:
    BlockSearch(const Problem& problem, CostModel model, StageOptions& options, const PrefixBounds& before,
                Block& block, BestPlans& best, const Limits& limits)
        : gpus_(problem.gpus()),
          layers_(problem.layers()),
          unit_(least_power(block.least_group)),
          model_(model),
          options_(&options),
          before_(&before),
          block_(&block),
          best_(&best),
          limits_(&limits),
          further_(static_cast<double>(options.batches() - 1)),
          generators_(options.batch_generator_ms() * static_cast<double>(options.batches())) {
        while (gpus_ >> sizes_ != 0) ++sizes_;
        cell_of_.assign(std::size_t{gpus_ / unit_ + 1} * (layers_ + 1) * sizes_, -1);
    }

    /// Returns whether the block was searched to the end.
    bool run() {
        std::vector<Cell> after{{gpus_, layers_, 0, {}}};
        for (suffix_ = 1; suffix_ <= block_->stages.back() && !after.empty(); ++suffix_) {
            std::vector<Cell> cells;
            for (const Cell& from : after) {
                if (labels_.size() > limits_->labels || (limits_->stop && limits_->stop())) return false;
                extend(from, cells);
            }
            for (const Cell& cell : cells) cell_of_[index(cell)] = -1;
            after = std::move(cells);
        }
        return true;
    }

private:
    std::size_t index(const Cell& cell) const {
        return (std::size_t{cell.start / unit_} * (layers_ + 1) + cell.layer) * sizes_ + cell.log2_gpus;
    }

    void extend(const Cell& from, std::vector<Cell>& cells) {
        for (std::uint32_t size = unit_; size <= from.start; size *= 2) {
            const std::uint32_t start = from.start - size;
            if (!may_start(model_, start, size)) continue;
            if (!reachable(start, from.layer)) continue;
            for (const StageOption& way : options_->at(start, size)) {
                if (suffix_ == 1) {
                    Label end;
                    end.sum = way.gap_ms;
                    if (way.gap_ms < kInfinite) extend(end, -1, from, start, way, 0.0, 0.0, cells);
                    continue;
                }
                const double link = way.link_ms(from.log2_gpus, from.layer + 1 == layers_);
                const double inside = model_ == CostModel::strict ? link : 0.0;
                for (const std::uint32_t id : from.labels)
                    extend(labels_[id], static_cast<std::int32_t>(id), from, start, way, link, inside, cells);
            }
        }
    }

    /// Whether any layers before `end` can go to ranks before `start`.
    bool reachable(std::uint32_t start, std::uint32_t end) const {
        const double* sums = before_->sums_ms(suffix_, start);
        return sums != nullptr && std::any_of(sums, sums + end, [](double ms) { return ms < kInfinite; });
    }

    void extend(const Label after, std::int32_t parent, const Cell& from, std::uint32_t start,
                const StageOption& way, double link, double inside, std::vector<Cell>& cells) {
        const double threshold = best_->threshold_ms();
        const auto in_flight = std::min<std::uint64_t>(options_->batches(), suffix_);
        const double* sums_before = before_->sums_ms(suffix_, start);
        const double* longest_before = before_->longest_ms(suffix_, start);
        const StageTable& table = *way.table;
        const bool compat = model_ == CostModel::compat;
        for (std::uint32_t layer = 0; layer < from.layer; ++layer) {
            const std::size_t at = std::size_t{layer} * (layers_ + 1) + from.layer;
            if (sums_before[layer] == kInfinite || table.most_in_flight[at] < in_flight) continue;
            const double ms = table.execution_ms[at];
            Label label{after.sum + (ms + link),
                        std::max(after.longest, ms + inside),
                        std::max(after.update, compat ? table.update_ms(at) : table.tail_ms(at)),
                        compat ? std::max(after.reduction, table.reduction_ms(at)) : 0.0,
                        parent,
                        way.gpus,
                        way.tp,
                        from.layer};
            ++block_->labels;
            const double longest = std::max(label.longest, longest_before[layer]);
            const double bound = further_ * longest + (label.sum + sums_before[layer]) + label.update +
                                 label.reduction + generators_;
            if (!(bound < threshold)) {
                ++block_->cut;
                continue;
            }
            if (start == 0 && layer == 0)
                complete(label, bound);
            else
                insert(label, start, layer, log2_of(way.gpus), cells);
        }
    }

    void insert(const Label& label, std::uint32_t start, std::uint32_t layer, std::uint32_t log2_gpus,
                std::vector<Cell>& cells) {
        Cell key{start, layer, log2_gpus, {}};
        std::int32_t& number = cell_of_[index(key)];
        if (number < 0) {
            number = static_cast<std::int32_t>(cells.size());
            cells.push_back(std::move(key));
        }
        std::vector<std::uint32_t>& labels = cells[static_cast<std::size_t>(number)].labels;
        for (const std::uint32_t id : labels)
            if (labels_[id].dominates(label)) {
                ++block_->dominated;
                return;
            }
        block_->dominated +=
            std::erase_if(labels, [&](std::uint32_t id) { return label.dominates(labels_[id]); });
        labels.push_back(static_cast<std::uint32_t>(labels_.size()));
        labels_.push_back(label);
    }

    void complete(const Label& label, double cost_ms) {
        if (!std::binary_search(block_->stages.begin(), block_->stages.end(), suffix_)) return;
        FoundPlan plan{cost_ms, block_->sequence, block_->batches, {}};
        plan.stages.push_back({label.gpus, label.tp, label.end});
        for (std::int32_t id = label.parent; id >= 0; id = labels_[static_cast<std::size_t>(id)].parent) {
            const Label& next = labels_[static_cast<std::size_t>(id)];
            plan.stages.push_back({next.gpus, next.tp, next.end});
        }
        best_->add(std::move(plan));
    }

    std::uint32_t gpus_;
    std::uint32_t layers_;
    std::uint32_t unit_;
    CostModel model_;
    StageOptions* options_;
    const PrefixBounds* before_;
    Block* block_;
    BestPlans* best_;
    const Limits* limits_;
    double further_;
    double generators_;
    std::uint32_t sizes_ = 0;
    std::uint32_t suffix_ = 0;
    std::vector<Label> labels_;
    std::vector<std::int32_t> cell_of_;
};

}  // namespace

bool search_block(const Problem& problem, CostModel model, StageOptions& options, const PrefixBounds& before,
                  Block& block, BestPlans& best, const Limits& limits) {
    return BlockSearch(problem, model, options, before, block, best, limits).run();
}

}  // namespace dse::planner::exact
