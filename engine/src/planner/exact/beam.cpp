// The beam search over suffixes.
#include "planner/exact/beam.hpp"

#include <algorithm>

namespace dse::planner::exact {

namespace {

struct BeamLabel {
    double sum_ms = 0;
    double longest_ms = 0;
    double tail_ms = 0;  ///< largest update and reduction
    double score_ms = 0;
    std::int32_t parent = -1;
    std::uint32_t gpus = 0;
    std::uint32_t tp = 0;
    std::uint32_t end = 0;
    std::uint32_t count = 0;
};

class Beam {
public:
    Beam(const Problem& problem, StageOptions& options, const BeamLimits& limits)
        : gpus_(problem.gpus()),
          layers_(problem.layers()),
          options_(&options),
          limits_(&limits),
          further_(static_cast<double>(options.batches() - 1)),
          generators_(options.batch_generator_ms() * static_cast<double>(options.batches())),
          best_ms_(limits.incumbent_ms) {
        cells_.resize(std::size_t{gpus_ / limits.unit + 1} * (layers_ + 1));
    }

    FoundPlan run() {
        cell(gpus_, layers_).push_back(0);
        labels_.emplace_back();
        for (std::uint32_t start = gpus_; start > 0 && !(limits_->stop && limits_->stop());) {
            start -= limits_->unit;
            for (std::uint32_t size = limits_->unit; start + size <= gpus_ && start % size == 0; size *= 2)
                if (limits_->groups == nullptr || limits_->groups->contains({start, size}))
                    extend(start, size);
        }
        FoundPlan plan;
        if (best_ < 0) return plan;
        plan.cost_ms = best_ms_;
        for (std::int32_t id = best_; id > 0; id = labels_[static_cast<std::size_t>(id)].parent) {
            const BeamLabel& label = labels_[static_cast<std::size_t>(id)];
            plan.stages.push_back({label.gpus, label.tp, label.end});
        }
        return plan;
    }

private:
    std::vector<std::int32_t>& cell(std::uint32_t start, std::uint32_t layer) {
        return cells_[std::size_t{start / limits_->unit} * (layers_ + 1) + layer];
    }

    void extend(std::uint32_t start, std::uint32_t size) {
        if (limits_->completion != nullptr)
            leading_ =
                limits_->ranks->pure(start, size) ? limits_->ranks->type(start) : limits_->completion->types;
        for (const StageOption& way : options_->at(start, size)) extend(start, start + size, way);
    }

    void extend(std::uint32_t start, std::uint32_t next, const StageOption& way) {
        const bool last = next == gpus_;
        if (last && way.gap_ms == kInfinite) return;
        for (std::uint32_t end = last ? layers_ : 1; end <= (last ? layers_ : layers_ - 1); ++end)
            for (const std::int32_t id : cell(next, end)) {
                const BeamLabel after = labels_[static_cast<std::size_t>(id)];
                const double link = last ? 0.0 : way.link_ms(log2_of(after.gpus), end + 1 == layers_);
                if (start == 0)
                    extend(after, id, 0, start, end, way, link, last);
                else
                    for (std::uint32_t first = end; --first > 0;)
                        if (!extend(after, id, first, start, end, way, link, last)) break;
            }
    }

    /// Returns whether a stage with more layers may be worth a label.
    bool extend(const BeamLabel& after, std::int32_t parent, std::uint32_t first, std::uint32_t start,
                std::uint32_t end, const StageOption& way, double link, bool last) {
        const std::size_t at = std::size_t{first} * (layers_ + 1) + end;
        const std::uint64_t in_flight = std::min<std::uint64_t>(options_->batches(), after.count + 1);
        if (way.table->most_in_flight[at] < in_flight) return false;
        const double ms = way.table->execution_ms[at] + link;
        const double tail = way.table->tail_ms(at);
        const bool in_band = !limits_->owed_ms.empty();
        if (in_band && (ms > limits_->period_ms || tail > limits_->tail_ms)) return false;
        BeamLabel label{after.sum_ms + ms + (last ? way.gap_ms : 0.0),
                        std::max(after.longest_ms, ms),
                        std::max(after.tail_ms, tail),
                        0,
                        parent,
                        way.gpus,
                        way.tp,
                        end,
                        after.count + 1};
        if (start == 0) {
            label.score_ms = cost_ms(label, 0, 0);
            if (label.score_ms < best_ms_) finish(label);
            return true;
        }
        const double least_ms = cost_ms(label, limits_->least_period_ms, 0);
        if (!(least_ms < best_ms_)) return false;
        label.score_ms = cost_ms(label, limits_->period_ms, limits_->tail_ms);
        if (limits_->completion != nullptr) {
            const double missing_ms = limits_->completion->at(label.count, leading_, first);
            if (missing_ms == kInfinite) return true;
            const double owed_ms = limits_->owed_ms.empty() ? 0.0 : limits_->owed_ms[start / limits_->unit];
            if (in_band && !(least_ms + missing_ms - owed_ms < best_ms_)) return true;
            label.score_ms += missing_ms;
        }
        keep(cell(start, first), label);
        return true;
    }

    /// Of the stages of a suffix, in a plan whose longest stage time and tail are at least those given.
    double cost_ms(const BeamLabel& label, double period_ms, double tail_ms) const {
        return further_ * std::max(label.longest_ms, period_ms) + label.sum_ms +
               std::max(label.tail_ms, tail_ms) + generators_;
    }

    void finish(const BeamLabel& label) {
        best_ms_ = label.score_ms;
        best_ = static_cast<std::int32_t>(labels_.size());
        labels_.push_back(label);
    }

    /// Among the best of a cell, of equal ones the first.
    void keep(std::vector<std::int32_t>& kept, const BeamLabel& label) {
        const auto score_of = [&](std::int32_t id) { return labels_[static_cast<std::size_t>(id)].score_ms; };
        auto id = static_cast<std::int32_t>(labels_.size());
        if (kept.size() < limits_->width) {
            labels_.push_back(label);
        } else {
            if (label.score_ms >= score_of(kept.back())) return;
            id = kept.back();  // nothing follows a label before its start is done
            kept.pop_back();
            labels_[static_cast<std::size_t>(id)] = label;
        }
        kept.insert(std::find_if(kept.begin(), kept.end(),
                                 [&](std::int32_t other) { return label.score_ms < score_of(other); }),
                    id);
    }

    std::uint32_t gpus_;
    std::uint32_t layers_;
    StageOptions* options_;
    const BeamLimits* limits_;
    double further_;
    double generators_;
    double best_ms_;
    std::int32_t best_ = -1;
    std::size_t leading_ = 0;  ///< type of the group that is added
    std::vector<BeamLabel> labels_;
    std::vector<std::vector<std::int32_t>> cells_;
};

}  // namespace

FoundPlan beam(const Problem& problem, StageOptions& options, const std::vector<std::uint32_t>& sequence,
               const BeamLimits& limits) {
    FoundPlan plan = Beam(problem, options, limits).run();
    plan.sequence = sequence;
    plan.batches = options.batches();
    return plan;
}

}  // namespace dse::planner::exact
