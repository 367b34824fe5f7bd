#include "planner/steps/table.hpp"

#include <algorithm>
#include <numeric>

namespace dse::planner::steps {

SuffixTable::SuffixTable(const Question& question, const Ranges& ranges, const Options& options,
                         const TypeOrder& order, std::int64_t most_stages, double incumbent_s,
                         const std::function<bool()>& stop)
    : question_(question), ranges_(ranges), options_(options), order_(order), layers_(ranges.layers()) {
    std::size_t size = 0;
    for (const std::uint32_t type : order) {
        const auto& groups = options.groups(type);
        std::int64_t unit = 0;
        for (const Group& group : groups) unit = std::gcd(unit, group.gpus);
        unit_gpus_.push_back(std::max<std::int64_t>(unit, 1));
        units_.push_back(question.types[type].gpus / unit_gpus_.back());
        offsets_.push_back(size);
        size += static_cast<std::size_t>((units_.back() + 1) * (layers_ + 1));
    }
    rows_.emplace_back();
    for (std::int64_t stages = 0; stages < most_stages && !is_stopped_; ++stages) {
        rows_.emplace_back(size);
        if (stages == 0) {
            for (std::size_t place = 0; place < order.size(); ++place)
                extend(0, place, 0, layers_, incumbent_s);
        }
        bool is_alive = stages == 0;
        for (std::size_t place = 0; stages != 0 && place < order.size(); ++place) {
            for (std::int64_t units = 0; units <= units_[place]; ++units) {
                if (stop()) is_stopped_ = true;
                if (is_stopped_) return;
                for (std::int64_t layer = 1; layer < layers_; ++layer) {
                    if (rows_[static_cast<std::size_t>(stages)][at(place, units, layer)].bound_s >=
                        incumbent_s)
                        continue;
                    is_alive = true;
                    extend(stages, place, units, layer, incumbent_s);
                }
            }
        }
        if (!is_alive) break;
    }
    for (const auto& row : rows_) {
        auto& least = least_.emplace_back(row.size());
        if (row.empty()) continue;
        std::vector<Least> later(static_cast<std::size_t>(layers_ + 1));
        for (std::size_t place = order.size(); place-- > 0;) {
            std::vector<Least> most = later;
            for (std::int64_t units = 0; units <= units_[place]; ++units) {
                for (std::int64_t layer = 0; layer <= layers_; ++layer) {
                    Least& known = most[static_cast<std::size_t>(layer)];
                    const State& own = row[at(place, units, layer)];
                    known = {std::min(known.bound_s, own.bound_s), std::min(known.pass_s, own.pass_s)};
                    least[at(place, units, layer)] = known;
                }
            }
            later = most;
        }
    }
}

/// Puts all stages in front of a suffix of `stages` that begins at `layer`, with `units` of a type used.
void SuffixTable::extend(std::int64_t stages, std::size_t last, std::int64_t used, std::int64_t layer,
                         double incumbent_s) {
    const auto before = static_cast<std::uint32_t>(stages == 0 ? 0 : at(last, used, layer));
    const State none{0.0, 0.0};
    const State& after = stages == 0 ? none : rows_[static_cast<std::size_t>(stages)][before];
    auto& row = rows_[static_cast<std::size_t>(stages) + 1];
    const std::int64_t in_flight = std::min(options_.micro_batches(), stages + 1);
    double earlier = 0.0;  // the speed of types before the place
    for (std::size_t place = 0; place < last; ++place) {
        earlier += options_.speed(order_[place], question_.types[order_[place]].gpus);
    }
    for (std::size_t place = last + 1; place-- > 0;) {
        const std::uint32_t type = order_[place];
        const auto& groups = options_.groups(type);
        const std::int64_t taken = place == last ? used : 0;
        for (std::size_t number = 0; number < groups.size(); ++number) {
            const std::int64_t units = taken + groups[number].gpus / unit_gpus_[place];
            if (units > units_[place] || groups[number].options.empty()) continue;
            const double left = earlier + options_.speed(type, (units_[place] - units) * unit_gpus_[place]);
            // Fewer layers leave more than the other GPUs finish in time.
            const std::int64_t least = layer - options_.most_layers(left, incumbent_s);
            for (std::int64_t count = std::max<std::int64_t>(1, least); count <= layer; ++count) {
                const std::int64_t first = layer - count;
                if (first == 0 && stages == 0) break;  // one stage is no pipeline
                const Best& best = options_.best(type, number, in_flight, ranges_.of(first, layer));
                if (best.pass_s == step::kInfinite) continue;
                const double bound =
                    std::max({after.bound_s + best.pass_s, best.step_s, best.waiting_s + after.pass_s});
                ++labels_;
                if (bound >= incumbent_s) {
                    if (first != 0) break;  // more layers take longer
                    continue;
                }
                State& known = row[at(place, units, first)];
                const double pass = std::min(known.pass_s, after.pass_s + best.pass_s);
                known.pass_s = pass;
                if (bound >= known.bound_s) continue;
                known = {bound,
                         pass,
                         before,
                         best.option,
                         static_cast<std::int16_t>(count),
                         static_cast<std::int16_t>(number)};
            }
        }
        if (stages == 0) break;
        if (place != 0) earlier -= options_.speed(order_[place - 1], question_.types[order_[place - 1]].gpus);
    }
}

double SuffixTable::least_s() const {
    double least = step::kInfinite;
    for (const auto& row : least_) {
        if (!row.empty()) least = std::min(least, row[at(0, units_[0], 0)].bound_s);
    }
    return least;
}

double SuffixTable::after_s(std::int64_t stages, std::size_t place, std::int64_t gpus,
                            std::int64_t layer) const {
    if (stages > this->stages()) return step::kInfinite;
    return least_[static_cast<std::size_t>(stages)][at(place, gpus / unit_gpus_[place], layer)].bound_s;
}

double SuffixTable::pass_s(std::int64_t stages, std::size_t place, std::int64_t gpus,
                           std::int64_t layer) const {
    return least_[static_cast<std::size_t>(stages)][at(place, gpus / unit_gpus_[place], layer)].pass_s;
}

std::vector<MixedPlan> SuffixTable::plans() const {
    std::vector<MixedPlan> found;
    for (std::size_t stages = 2; stages < rows_.size(); ++stages) {
        std::size_t best_place = 0, best = 0;
        double least = step::kInfinite;
        for (std::size_t place = 0; place < order_.size(); ++place) {
            for (std::int64_t units = 0; units <= units_[place]; ++units) {
                const std::size_t state = at(place, units, 0);
                if (rows_[stages][state].bound_s < least) {
                    least = rows_[stages][state].bound_s;
                    best = state;
                    best_place = place;
                }
            }
        }
        if (least == step::kInfinite) continue;
        MixedPlan plan{options_.rounds(), {}};
        for (std::size_t row = stages, state = best; row > 0; --row) {
            while (best_place + 1 < order_.size() && state >= offsets_[best_place + 1]) ++best_place;
            const State& own = rows_[row][state];
            const Group& group = options_.groups(order_[best_place])[static_cast<std::size_t>(own.group)];
            StageChoice choice = group.options[own.option].choice;
            choice.layers = own.layers;
            plan.stages.push_back(choice);
            state = own.before;
        }
        found.push_back(std::move(plan));
    }
    return found;
}

}  // namespace dse::planner::steps
