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

StageTimes::StageTimes(const Ranges& ranges, const Options& options, std::uint32_t type, std::size_t group,
                       double target_s)
    : units_(options.groups(type)[group].gpus / options.unit_gpus(type)), width_(ranges.layers() + 1) {
    const auto count = static_cast<double>(options.micro_batches());
    for (bool is_possible = true; is_possible && most_ + 1 < ranges.layers();) {
        is_possible = false;
        times_s_.resize(times_s_.size() + 2 * static_cast<std::size_t>(width_), step::kInfinite);
        double* row = times_s_.data() + 2 * most_ * width_;
        ++most_;
        for (std::int64_t end = most_; end < ranges.layers(); ++end) {
            const Best& best = options.best(type, group, ranges.of(end - most_, end));
            if (best.both_s * count >= target_s) continue;
            is_possible = true;
            row[end] = best.pass_s;
            row[width_ + end] = best.both_s * count;
        }
    }
}

PrefixTable::PrefixTable(const Ranges& ranges, const Options& options, double target_s)
    : layers_(ranges.layers()), passes_(options, layers_), lasts_(options, 0) {
    for (std::uint32_t type = 0; type < options.types(); ++type) {
        auto& stages = stages_.emplace_back();
        for (std::size_t group = 0; group < options.groups(type).size(); ++group) {
            stages.emplace_back(ranges, options, type, group, target_s);
        }
    }
    const TypeSet all = only(static_cast<std::uint32_t>(options.types())) - 1;
    for (TypeSet others = 0; others < all; ++others) {
        each_type(all & ~others, [&](std::uint32_t type) { fill(options, {others, type, 0, 0}, target_s); });
    }
}

void PrefixTable::fill(const Options& options, const Cut& cut, double target_s) {
    for (std::int64_t units = 0; units <= options.units(cut.type); ++units) {
        double* to = &passes_[{cut.others, cut.type, units, 0}];
        std::fill(to, to + layers_ + 1, step::kInfinite);
        to[0] = 0.0;
        each_type(cut.others, [&](std::uint32_t other) {
            const double* from = passes_.find({cut.others & ~only(other), other, options.units(other), 0});
            for (std::int64_t layer = 0; layer < layers_; ++layer)
                to[layer] = std::min(to[layer], from[layer]);
        });
        for (const StageTimes& stage : stages_[cut.type]) {
            if (stage.units() > units) continue;
            const double* from = passes_.find({cut.others, cut.type, units - stage.units(), 0});
            for (std::int64_t count = 1; count <= stage.most(); ++count) {
                const StageTimes::Row row = stage.of(count);
                for (std::int64_t end = count; end < layers_; ++end) {
                    const double before_s = from[end - count];
                    const double pass_s =
                        before_s + row.busy_s[end] < target_s ? before_s + row.pass_s[end] : step::kInfinite;
                    to[end] = std::min(to[end], pass_s);
                }
            }
        }
        std::int64_t& last = lasts_[{cut.others, cut.type, units, 0}];
        for (last = layers_ - 1; to[last] == step::kInfinite;) --last;
    }
}

SuffixTable::SuffixTable(const Ranges& ranges, const Options& options, const Precision& precision,
                         std::int64_t most_stages, double target_s, std::uint64_t most_labels,
                         const std::function<bool()>& stop)
    : ranges_(ranges),
      options_(options),
      precision_(precision),
      grid_s_(precision.grid * options.least_s()),
      tail_grid_s_(precision.tail_grid * options.least_s()),
      target_s_(target_s),
      all_(only(static_cast<std::uint32_t>(options.types())) - 1),
      prefixes_(ranges, options, target_s),
      wholes_(1) {
    rows_.emplace_back(options, ranges.layers());
    is_alive_ = true;
    for (std::int64_t stages = 0; stages < most_stages && is_alive_; ++stages) {
        is_alive_ = false;
        rows_.emplace_back(options, ranges.layers());
        wholes_.emplace_back();
        if (stages == 0) {
            extend(0, {0, 0, 0, ranges.layers()}, {Times{}});
            continue;
        }
        std::vector<Times> after;
        rows_[static_cast<std::size_t>(stages)].each([&](const Cut& cut, const auto& labels) {
            if (labels == nullptr || is_stopped_) return;
            if (labels_ > most_labels || stop()) is_stopped_ = true;
            after.clear();
            for (std::size_t i = 0; i < labels->counts.size(); ++i) {
                after.push_back(times_of(labels->counts[i]));
                after.back().first_s = labels->firsts_s[i];
            }
            extend(stages, cut, after);
        });
        if (is_stopped_) return;
    }
}

/// Puts all stages in front of the suffixes `after` a cut.
void SuffixTable::extend(std::int64_t stages, const Cut& cut, const std::vector<Times>& after) {
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

void SuffixTable::extend_by(std::int64_t stages, const Cut& cut, const std::vector<Times>& after,
                            const Cut& before, std::size_t group) {
    const std::int64_t in_flight = std::min(options_.micro_batches(), stages + 1);
    double least_bound_s = step::kInfinite, least_pass_s = step::kInfinite;
    for (const Times& times : after) {
        least_bound_s = std::min(least_bound_s, times.bound_s);
        least_pass_s = std::min(least_pass_s, times.pass_s);
    }
    Cut left{all_ & ~before.others & ~only(before.type), before.type,
             options_.units(before.type) - before.units, 0};
    Row& row = rows_[static_cast<std::size_t>(stages) + 1];
    const Group& own_group = options_.groups(before.type)[group];
    const std::size_t to = stages == 0 ? 0 : options_.send(before.type, cut.type, stages + 1);
    const auto& choices = precision_.is_coarse ? own_group.merged : own_group.choices;
    const std::int64_t from = std::min(cut.layer - 1, prefixes_.last(left));
    for (std::int64_t first = from; first >= (stages == 0 ? 1 : 0); --first) {  // one stage is no pipeline
        left.layer = first;
        const double passed_s = prefixes_.pass_s(left);
        if (least_bound_s + passed_s >= target_s_) continue;
        bool is_below = false;
        for (const Choice& choice : choices[ranges_.of(first, cut.layer)]) {
            const Cell& cell = choice.cell;
            if (cell.most_in_flight < in_flight) continue;
            const double send_s = stages == 0 ? 0.0 : choice.sends_s[to];
            const double pass_s = cell.both_s() + 2 * send_s;
            const double least_s =
                options_.core_s(cell, in_flight, 2 * send_s + least_pass_s, 2 * send_s + least_pass_s, 0.0);
            if (least_s >= target_s_) continue;
            is_below = true;
            const double limit_s = target_s_ - passed_s;
            if (is_above(std::max(least_bound_s + pass_s, least_s), limit_s)) continue;
            for (std::uint32_t number = 0; number < after.size(); ++number) {
                const Times& own = after[number];
                ++labels_;
                const double core_s = options_.core_s(cell, in_flight, 2 * send_s + own.pass_s,
                                                      2 * send_s + own.last_s, pass_s + own.first_s);
                const double bound_s = std::max(own.bound_s + pass_s, core_s);
                if (is_above(bound_s, limit_s)) continue;
                const double ends_s = bound_s + cell.exposed_s;
                const Counts counts = counts_of(
                    {bound_s, std::max(own.ends_s + cell.forward_s + send_s, ends_s), own.pass_s + pass_s,
                     std::max(own.last_s + pass_s,
                              cell.forward_s + static_cast<double>(in_flight) * cell.backward_s),
                     std::max(own.tail_s - cell.forward_s, cell.tail_s)});
                const Times times = times_of(counts);
                const Link link{cut, number, choice.option, static_cast<std::int16_t>(cut.layer - first),
                                static_cast<std::int16_t>(group)};
                if (first == 0) {
                    const double whole_s = times.ends_s + std::max(times.tail_s, cell.tail_s);
                    Whole& whole = wholes_[static_cast<std::size_t>(stages) + 1];
                    if (whole_s < std::min(target_s_, whole.bound_s)) whole = {whole_s, before.type, link};
                    continue;
                }
                // Forward passes before hide some of the tail, and take no longer than both passes.
                if (times.bound_s + times.tail_s >= target_s_) continue;
                auto& labels = row[{before.others, before.type, before.units, first}];
                if (labels == nullptr) labels = std::make_unique<Labels>();
                if (keep(*labels, counts, link, cell.both_s())) is_alive_ = true;
            }
        }
        if (!is_below) break;  // more layers take longer, and more memory
    }
}

SuffixTable::Counts SuffixTable::counts_of(const Times& times) const {
    const auto pair = [](std::uint64_t one, std::uint64_t other) { return one << 32U | other; };
    const std::uint64_t bound = down(times.bound_s, grid_s_), pass = down(times.pass_s, grid_s_);
    const std::uint64_t last = precision_.is_coarse ? pass : std::max(pass, down(times.last_s, grid_s_));
    return {pair(bound, std::max(bound, down(times.ends_s, grid_s_))), pair(pass, last),
            down(times.tail_s, tail_grid_s_)};
}

SuffixTable::Times SuffixTable::times_of(const Counts& counts) const {
    const auto low = [](std::uint64_t pair) { return pair & 0xffffffffU; };
    return {seconds(counts[0] >> 32U, grid_s_), seconds(low(counts[0]), grid_s_),
            seconds(counts[1] >> 32U, grid_s_), seconds(low(counts[1]), grid_s_),
            seconds(counts[2], tail_grid_s_)};
}

/// Adds a suffix that no other beats, and drops those that it beats.
bool SuffixTable::keep(Labels& labels, const Counts& counts, const Link& link, double first_s) const {
    constexpr std::uint64_t kBorrow = 0x8000000080000000U;  // lent to each count; kept where it is enough
    const auto beats = [](const Counts& one, const Counts& other) {
        std::uint64_t left = kBorrow;
        for (std::size_t i = 0; i < one.size(); ++i) left &= (other[i] | kBorrow) - one[i];
        return left == kBorrow;
    };
    for (std::size_t place = 0; place < labels.counts.size(); ++place) {
        if (!beats(labels.counts[place], counts)) continue;
        labels.firsts_s[place] = std::min(labels.firsts_s[place], first_s);
        return false;
    }
    std::size_t kept = 0;
    for (std::size_t place = 0; place < labels.counts.size(); ++place) {
        if (beats(counts, labels.counts[place])) {
            first_s = std::min(first_s, labels.firsts_s[place]);
            continue;
        }
        labels.counts[kept] = labels.counts[place];
        labels.firsts_s[kept] = labels.firsts_s[place];
        labels.links[kept++] = labels.links[place];
    }
    labels.counts.resize(kept);
    labels.firsts_s.resize(kept);
    labels.links.resize(kept);
    if (kept == precision_.most_at_cut) {
        // Stages in front add to the bound, and to chains of twice the pass: both count.
        const auto is_before = [](const Counts& one, const Counts& other) {
            return (one[0] >> 32U) + (one[1] >> 32U) < (other[0] >> 32U) + (other[1] >> 32U);
        };
        const auto last = std::max_element(labels.counts.begin(), labels.counts.end(), is_before);
        if (!is_before(counts, *last)) return false;
        *last = counts;
        labels.firsts_s[static_cast<std::size_t>(last - labels.counts.begin())] = first_s;
        labels.links[static_cast<std::size_t>(last - labels.counts.begin())] = link;
        return true;
    }
    labels.counts.push_back(counts);
    labels.firsts_s.push_back(first_s);
    labels.links.push_back(link);
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
        row.each([&](const Cut& cut, const auto& labels) {
            Least& own = least[cut];
            if (cut.units > 0) own = least[{cut.others, cut.type, cut.units - 1, cut.layer}];
            if (labels == nullptr) return;
            for (const Counts& counts : labels->counts) {
                const Times times = times_of(counts);
                own = {std::min(own.bound_s, times.bound_s), std::min(own.pass_s, times.pass_s)};
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
        const Link* own = &wholes_[stages].link;
        std::uint32_t type = wholes_[stages].type;
        for (std::size_t row = stages;; --row) {
            const Group& group = options_.groups(type)[static_cast<std::size_t>(own->group)];
            StageChoice choice = group.options[own->option].choice;
            choice.layers = own->layers;
            plan.stages.push_back(choice);
            if (row == 1) break;
            type = own->next.type;
            own = &(*rows_[row - 1].find(own->next))->links[own->label];
        }
        found.push_back(std::move(plan));
    }
    return found;
}

}  // namespace dse::planner::steps
