// The label search over suffixes, block by block.
#include "planner/exact/search.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "planner/exact/bounds.hpp"

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

/// The best plans, one per type sequence, number of stages and number of micro-batches.
class BestPlans {
public:
    explicit BestPlans(const Limits& limits) : limits_(&limits) {}

    /// Nothing at or above it is worth a label.
    double threshold_ms() const {
        if (plans_.empty()) return kInfinite;
        double threshold = plans_.front().cost_ms * (1.0 + limits_->within);
        if (limits_->within > 0 && plans_.size() >= limits_->keep)
            threshold = std::min(threshold, plans_[limits_->keep - 1].cost_ms);
        return threshold;
    }
    bool wanted(double cost_ms) const { return cost_ms < threshold_ms(); }

    void add(FoundPlan plan) {
        const auto same = std::find_if(plans_.begin(), plans_.end(), [&](const FoundPlan& other) {
            return other.batches == plan.batches && other.stages.size() == plan.stages.size() &&
                   other.sequence == plan.sequence;
        });
        if (same != plans_.end()) {
            if (same->cost_ms <= plan.cost_ms) return;
            plans_.erase(same);
        }
        const auto after =
            std::upper_bound(plans_.begin(), plans_.end(), plan.cost_ms,
                             [](double cost_ms, const FoundPlan& other) { return cost_ms < other.cost_ms; });
        plans_.insert(after, std::move(plan));
    }

    std::vector<FoundPlan> take() {
        if (plans_.size() > limits_->keep) plans_.resize(limits_->keep);
        return std::move(plans_);
    }
    double best_ms() const { return plans_.empty() ? kInfinite : plans_.front().cost_ms; }

private:
    const Limits* limits_;
    std::vector<FoundPlan> plans_;
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
        for (std::uint32_t layer = 0; layer < end; ++layer)
            if (before_->sum_ms(suffix_, start, layer) < kInfinite) return true;
        return false;
    }

    void extend(const Label after, std::int32_t parent, const Cell& from, std::uint32_t start,
                const StageOption& way, double link, double inside, std::vector<Cell>& cells) {
        const double threshold = best_->threshold_ms();
        const auto flying = std::min<std::uint64_t>(options_->batches(), suffix_);
        for (std::uint32_t layer = 0; layer < from.layer; ++layer) {
            const std::size_t at = std::size_t{layer} * (layers_ + 1) + from.layer;
            const double sum_before = before_->sum_ms(suffix_, start, layer);
            if (sum_before == kInfinite || way.table->most_flying[at] < flying) continue;
            const double ms = way.table->execution_ms[at];
            Label label{
                after.sum + (ms + link),
                std::max(after.longest, ms + inside),
                std::max(after.update, way.table->update_ms[at]),
                model_ == CostModel::compat ? std::max(after.reduction, way.table->reduction_ms[at]) : 0.0,
                parent,
                way.gpus,
                way.tp,
                from.layer};
            ++block_->labels;
            const double longest = std::max(label.longest, before_->longest_ms(suffix_, start, layer));
            const double bound =
                further_ * longest + (label.sum + sum_before) + label.update + label.reduction + generators_;
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

/// Stage counts by least group, ascending by the first count.
std::vector<Block> blocks_of(const Problem& problem, CostModel model) {
    std::vector<Block> blocks;
    const std::uint64_t gpus = problem.gpus();
    for (std::uint64_t stages = 1; stages <= std::min<std::uint64_t>(gpus, problem.layers()); ++stages) {
        std::uint64_t least = 1;
        if (model == CostModel::compat)
            least = std::max<std::uint64_t>(
                1, std::max(gpus / stages, stages / gpus) * problem.options.group_scale);
        if (least * stages > gpus) continue;
        const std::uint32_t unit = least_power(static_cast<std::uint32_t>(least));
        if (std::uint64_t{unit} * stages > gpus) continue;
        const auto same = std::find_if(blocks.begin(), blocks.end(),
                                       [&](const Block& block) { return block.least_group == unit; });
        Block fresh;
        fresh.least_group = unit;
        (same == blocks.end() ? blocks.emplace_back(fresh) : *same)
            .stages.push_back(static_cast<std::uint32_t>(stages));
    }
    return blocks;
}

/// What blocks of one type sequence and number of micro-batches share.
struct Family {
    std::unique_ptr<StageOptions> options;
    std::vector<std::unique_ptr<PrefixBounds>> bounds;  ///< per block of the family
};

}  // namespace

SearchResult search(const Problem& problem, CostModel model,
                    const std::vector<std::vector<std::uint32_t>>& sequences, const Limits& limits) {
    SearchResult result;
    SliceSums sums(problem);
    const std::vector<Block> shapes = blocks_of(problem, model);
    std::vector<std::unique_ptr<Ranks>> ranks;
    std::vector<Family> families;
    std::vector<std::pair<std::size_t, std::size_t>> place;  // family and bounds, per block
    for (const std::vector<std::uint32_t>& sequence : sequences) {
        ranks.push_back(std::make_unique<Ranks>(problem, sequence));
        for (std::uint64_t batches = problem.model.gbs; batches > 0; --batches) {
            if (problem.model.gbs % batches != 0) continue;
            Family& family = families.emplace_back();
            family.options = std::make_unique<StageOptions>(problem, model, *ranks.back(), sums, batches);
            for (const Block& shape : shapes) {
                Block block = shape;
                block.sequence = sequence;
                block.batches = batches;
                if (result.complete) {
                    family.bounds.push_back(
                        std::make_unique<PrefixBounds>(problem, model, *family.options, block, limits.stop));
                    result.complete = !family.bounds.back()->stopped();
                    if (result.complete) block.bound_ms = family.bounds.back()->root_ms();
                    if (block.bound_ms == kInfinite) block.outcome = Outcome::empty;
                }
                place.emplace_back(families.size() - 1, family.bounds.size() - 1);
                result.blocks.push_back(std::move(block));
            }
        }
    }
    std::vector<std::size_t> order(result.blocks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return result.blocks[a].bound_ms < result.blocks[b].bound_ms;
    });
    BestPlans best(limits);
    for (const std::size_t i : order) {
        Block& block = result.blocks[i];
        if (block.outcome == Outcome::empty || !result.complete) continue;
        if (!best.wanted(block.bound_ms)) {
            block.outcome = Outcome::pruned;
            continue;
        }
        Family& family = families[place[i].first];
        BlockSearch labels(problem, model, *family.options, *family.bounds[place[i].second], block, best,
                           limits);
        if (labels.run())
            block.outcome = Outcome::searched;
        else
            result.complete = limits.stop == nullptr || !limits.stop();
    }
    result.bound_ms = best.best_ms();
    for (Block& block : result.blocks)
        if (block.outcome == Outcome::open) {
            result.bound_ms = std::min(result.bound_ms, block.bound_ms);
            result.complete = false;
        }
    result.plans = best.take();
    return result;
}

}  // namespace dse::planner::exact
