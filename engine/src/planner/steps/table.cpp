#include "planner/steps/table.hpp"

#include <algorithm>
#include <bit>

namespace dse::planner::steps {

namespace {

TypeSet only(std::uint32_t type) { return TypeSet{1} << type; }

/// Calls `visit(type)` for each type of a set.
template <typename Visit>
void each_type(TypeSet types, const Visit& visit) {
    for (; types != 0; types &= types - 1) visit(static_cast<std::uint32_t>(std::countr_zero(types)));
}

}  // namespace

PrefixTable::PrefixTable(const Ranges& ranges, const Options& options, double target_s)
    : passes_(options, ranges.layers()) {
    const std::size_t types = options.types();
    for (TypeSet others = 0; others < only(static_cast<std::uint32_t>(types)); ++others) {
        for (std::uint32_t type = 0; type < types; ++type) {
            if ((others & only(type)) == 0) fill(ranges, options, {others, type, 0, 0}, target_s);
        }
    }
}

void PrefixTable::fill(const Ranges& ranges, const Options& options, const Cut& cut, double target_s) {
    const auto& groups = options.groups(cut.type);
    const std::int64_t layers = ranges.layers();
    const auto count = static_cast<double>(options.micro_batches());
    for (std::int64_t units = 0; units <= options.units(cut.type); ++units) {
        for (std::int64_t layer = 0; layer <= layers; ++layer) {
            double least = layer == 0 ? 0.0 : step::kInfinite;
            each_type(cut.others, [&](std::uint32_t other) {
                const Cut at{cut.others & ~only(other), other, options.units(other), layer};
                least = std::min(least, *passes_.find(at));
            });
            passes_[{cut.others, cut.type, units, layer}] = least;
        }
        for (std::size_t number = 0; number < groups.size(); ++number) {
            const std::int64_t left = units - groups[number].gpus / options.unit_gpus(cut.type);
            if (left < 0) continue;
            double* to = &passes_[{cut.others, cut.type, units, 0}];
            const double* from = &passes_[{cut.others, cut.type, left, 0}];
            for (std::int64_t end = 1; end < layers; ++end) {
                for (std::int64_t first = end - 1; first >= 0; --first) {
                    const Best& best = options.best(cut.type, number, ranges.of(first, end));
                    if (best.both_s == step::kInfinite) continue;
                    if (best.both_s * count >= target_s) break;  // more layers take longer
                    to[end] = std::min(to[end], from[first] + best.pass_s);
                }
            }
        }
    }
}

SuffixTable::SuffixTable(const Question& question, const Ranges& ranges, const Options& options,
                         const Precision& precision, std::int64_t most_stages, double target_s,
                         std::uint64_t most_labels, const std::function<bool()>& stop)
    : question_(question),
      ranges_(ranges),
      options_(options),
      precision_(precision),
      target_s_(target_s),
      all_(only(static_cast<std::uint32_t>(options.types())) - 1),
      prefixes_(ranges, options, target_s),
      wholes_(1),
      whole_types_(1) {
    rows_.emplace_back(options, ranges.layers());
    is_alive_ = true;
    for (std::int64_t stages = 0; stages < most_stages && is_alive_; ++stages) {
        is_alive_ = false;
        rows_.emplace_back(options, ranges.layers());
        wholes_.push_back({step::kInfinite});
        whole_types_.push_back(0);
        if (stages == 0) {
            extend(0, {0, 0, 0, ranges.layers()}, {Label{}});
            continue;
        }
        rows_[static_cast<std::size_t>(stages)].each([&](const Cut& cut, const std::vector<Label>& labels) {
            if (labels.empty() || is_stopped_) return;
            if (labels_ > most_labels || stop()) is_stopped_ = true;
            extend(stages, cut, labels);
        });
        if (is_stopped_) return;
    }
}

/// Puts all stages in front of the suffixes `after` a cut.
void SuffixTable::extend(std::int64_t stages, const Cut& cut, const std::vector<Label>& after) {
    const TypeSet used = stages == 0 ? 0 : cut.others | only(cut.type);
    const auto extend_type = [&](const Cut& before) {
        const auto& groups = options_.groups(before.type);
        for (std::size_t number = 0; number < groups.size(); ++number) {
            Cut at = before;
            at.units += groups[number].gpus / options_.unit_gpus(before.type);
            if (at.units <= options_.units(before.type)) extend_by(stages, cut, after, at, number);
        }
    };
    if (stages != 0) extend_type({cut.others, cut.type, cut.units, 0});
    each_type(all_ & ~used, [&](std::uint32_t type) { extend_type({used, type, 0, 0}); });
}

void SuffixTable::extend_by(std::int64_t stages, const Cut& cut, const std::vector<Label>& after,
                            const Cut& before, std::size_t group) {
    const std::int64_t in_flight = std::min(options_.micro_batches(), stages + 1);
    double least_bound_s = step::kInfinite, least_pass_s = step::kInfinite;
    for (const Label& label : after) {
        least_bound_s = std::min(least_bound_s, label.bound_s);
        least_pass_s = std::min(least_pass_s, label.pass_s);
    }
    Cut left{all_ & ~before.others & ~only(before.type), before.type,
             options_.units(before.type) - before.units, 0};
    Row& row = rows_[static_cast<std::size_t>(stages) + 1];
    const Group& own_group = options_.groups(before.type)[group];
    const auto& choices = precision_.is_coarse ? own_group.merged : own_group.choices;
    for (std::int64_t first = cut.layer - 1; first >= 0; --first) {
        if (first == 0 && stages == 0) break;  // one stage is no pipeline
        left.layer = first;
        const double passed_s = prefixes_.pass_s(left);
        if (least_bound_s + passed_s >= target_s_) continue;
        bool is_below = false, is_possible = false;
        for (const Choice& choice : choices[ranges_.of(first, cut.layer)]) {
            if (choice.cell.most_in_flight < in_flight) continue;
            is_possible = true;
            const double send_s = stages == 0 ? 0.0 : choice.sends_s[cut.type];
            const double pass_s = choice.cell.both_s() + 2 * send_s;
            if (options_.core_s(choice.cell, in_flight, 2 * send_s + least_pass_s,
                                2 * send_s + least_pass_s) < target_s_)
                is_below = true;
            for (std::uint32_t number = 0; number < after.size(); ++number) {
                const Label& own = after[number];
                ++labels_;
                const double core_s =
                    options_.core_s(choice.cell, in_flight, 2 * send_s + own.pass_s, 2 * send_s + own.last_s);
                const double bound_s = std::max(own.bound_s + pass_s, core_s);
                const double ends_s = bound_s + choice.cell.exposed_s;
                Label label{
                    bound_s,
                    std::max(own.ends_s + choice.cell.forward_s + send_s, ends_s),
                    own.pass_s + pass_s,
                    std::max(own.last_s + pass_s,
                             choice.cell.forward_s + static_cast<double>(in_flight) * choice.cell.backward_s),
                    std::max(own.tail_s - choice.cell.forward_s, choice.cell.tail_s),
                    cut,
                    number,
                    choice.option,
                    static_cast<std::int16_t>(cut.layer - first),
                    static_cast<std::int16_t>(group)};
                round(label);
                if (first == 0) {
                    label.bound_s = label.ends_s + std::max(label.tail_s, choice.cell.tail_s);
                    Label& whole = wholes_[static_cast<std::size_t>(stages) + 1];
                    if (label.bound_s < std::min(target_s_, whole.bound_s)) {
                        whole = label;
                        whole_types_[static_cast<std::size_t>(stages) + 1] = before.type;
                    }
                    continue;
                }
                // Forward passes before hide some of the tail, and take no longer than both passes.
                if (label.bound_s + std::max(passed_s, label.tail_s) >= target_s_) continue;
                if (keep(row[{before.others, before.type, before.units, first}], label)) is_alive_ = true;
            }
        }
        if (is_possible && !is_below) break;  // more layers take longer
    }
}

void SuffixTable::round(Label& label) const {
    const auto down = [this](double seconds, double grid) {
        const double grid_s = grid * options_.least_s();
        return std::floor(seconds / grid_s) * grid_s;
    };
    label.bound_s = down(label.bound_s, precision_.grid);
    label.ends_s = std::max(label.bound_s, down(label.ends_s, precision_.grid));
    label.pass_s = down(label.pass_s, precision_.grid);
    label.last_s =
        precision_.is_coarse ? label.pass_s : std::max(label.pass_s, down(label.last_s, precision_.grid));
    label.tail_s = down(label.tail_s, precision_.tail_grid);
}

/// Adds a label that no other beats, and drops those that it beats.
bool SuffixTable::keep(std::vector<Label>& labels, const Label& label) {
    const auto beats = [](const Label& one, const Label& other) {
        return one.bound_s <= other.bound_s && one.ends_s <= other.ends_s && one.pass_s <= other.pass_s &&
               one.last_s <= other.last_s && one.tail_s <= other.tail_s;
    };
    for (const Label& known : labels) {
        if (beats(known, label)) return false;
    }
    std::erase_if(labels, [&](const Label& known) { return beats(label, known); });
    labels.push_back(label);
    return true;
}

double SuffixTable::least_s() const {
    double least = step::kInfinite;
    for (std::size_t stages = 2; stages < wholes_.size(); ++stages) {
        least = std::min(least, wholes_[stages].bound_s);
    }
    return least;
}

void SuffixTable::index() {
    for (const Row& row : rows_) {
        auto& least = least_.emplace_back(options_, ranges_.layers());
        row.each([&](const Cut& cut, const std::vector<Label>& labels) {
            Least& own = least[cut];
            if (cut.units > 0) own = least[{cut.others, cut.type, cut.units - 1, cut.layer}];
            for (const Label& label : labels) {
                own = {std::min(own.bound_s, label.bound_s), std::min(own.pass_s, label.pass_s)};
            }
        });
    }
}

SuffixTable::Least SuffixTable::after(std::int64_t stages, const Cut& left) const {
    Least found;
    if (stages > this->stages()) return found;
    const auto look = [&](std::uint32_t type, std::int64_t units) {
        const TypeSet others = left.others & ~only(type);
        for (TypeSet some = others;; some = (some - 1) & others) {
            if (const Least* own =
                    least_[static_cast<std::size_t>(stages)].find({some, type, units, left.layer})) {
                found = {std::min(found.bound_s, own->bound_s), std::min(found.pass_s, own->pass_s)};
            }
            if (some == 0) break;
        }
    };
    look(left.type, left.units);
    each_type(left.others, [&](std::uint32_t type) { look(type, options_.units(type)); });
    return found;
}

std::vector<MixedPlan> SuffixTable::plans() const {
    std::vector<MixedPlan> found;
    for (std::size_t stages = 2; stages < wholes_.size(); ++stages) {
        if (wholes_[stages].bound_s == step::kInfinite) continue;
        MixedPlan plan{options_.rounds(), {}};
        const Label* own = &wholes_[stages];
        std::uint32_t type = whole_types_[stages];
        for (std::size_t row = stages;; --row) {
            const Group& group = options_.groups(type)[static_cast<std::size_t>(own->group)];
            StageChoice choice = group.options[own->option].choice;
            choice.layers = own->layers;
            plan.stages.push_back(choice);
            if (row == 1) break;
            type = own->next.type;
            own = &(*rows_[row - 1].find(own->next))[own->label];
        }
        found.push_back(std::move(plan));
    }
    return found;
}

}  // namespace dse::planner::steps
