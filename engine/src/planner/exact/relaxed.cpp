// The stages of the relaxed problem.
#include "planner/exact/relaxed.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "planner/exact/bounds.hpp"
#include "planner/exact/units.hpp"

namespace dse::planner::exact {

BestPlaces best_places(const Problem& problem, const std::vector<std::unique_ptr<Ranks>>& ranks) {
    BestPlaces places;
    const std::uint32_t gpus = problem.gpus();
    const std::size_t sizes = log2_of(std::bit_floor(gpus)) + 1;
    places.exists.assign(problem.types.size(), std::vector<std::uint8_t>(sizes, 0));
    places.within_gbps.assign(problem.types.size(), std::vector<double>(sizes, 0.0));
    places.across_gbps = places.within_gbps;
    places.reduction_gbps.assign(problem.types.size(), {});
    for (auto& by_size : places.reduction_gbps)
        for (std::uint32_t size = 0; size < sizes; ++size) by_size.emplace_back(size + 1, 0.0);
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, bool> seen;
    for (const std::unique_ptr<Ranks>& order : ranks) {
        std::vector<std::uint32_t> begin(problem.types.size(), gpus);
        for (std::uint32_t rank = gpus; rank-- > 0;) begin[order->type(rank)] = rank;
        for (std::uint32_t size = 1; size <= gpus; size *= 2)
            for (std::uint32_t start = 0; start + size <= gpus; start += size) {
                if (!order->pure(start, size)) continue;
                const std::uint32_t type = order->type(start);
                const std::uint32_t log2_size = log2_of(size);
                places.exists[type][log2_size] = 1;
                if (const std::uint32_t next = start + size; next < gpus) {
                    auto& best = order->type(next) == type ? places.within_gbps : places.across_gbps;
                    double& gbps = best[type][log2_size];
                    gbps = std::max(gbps, order->fastest_link_gbps(start, size));
                }
                bool& known = seen[{type, start - begin[type], size}];
                if (known) continue;
                known = true;
                for (std::uint32_t tp = 1; tp < size && tp <= problem.options.max_tp; tp *= 2) {
                    double& gbps = places.reduction_gbps[type][log2_size][log2_of(tp)];
                    gbps = std::max(gbps, order->strict_reduction_gbps(start, size, tp));
                }
            }
    }
    return places;
}

RelaxedStages::RelaxedStages(const Problem& problem, const std::vector<std::unique_ptr<Ranks>>& ranks,
                             const BestPlaces& places, LayerTables& tables, std::uint64_t batches,
                             std::vector<double>& scratch)
    : layers_(problem.layers()),
      batches_(batches),
      most_(static_cast<std::uint32_t>(std::min<std::uint64_t>(batches, problem.layers()))),
      least_(&scratch) {
    for (const std::uint32_t count : problem.gpus_of_types()) budget_.push_back(count);
    for (const std::unique_ptr<Ranks>& order : ranks) {
        const StageOptions options(problem, CostModel::strict, *order, tables, batches);
        generators_ms_ =
            std::min(generators_ms_, options.batch_generator_ms() * static_cast<double>(batches));
    }
    set_cells(problem);
    add_pure(problem, places, tables, *ranks.front());
    if (problem.options.allow_mixed_stages) add_mixed(problem, ranks, tables);
    set_tables();
    before_.resize((types() + 1) * (most_ + 1) * (layers_ + 1));
    cheapest_.resize(this->tables() * (layers_ + 1));
}

void RelaxedStages::set_tables() {
    for (const std::vector<double>& use : uses_) {
        const auto some = [](double share) { return share > 0; };
        const auto first = std::find_if(use.begin(), use.end(), some);
        const bool pure = std::count_if(use.begin(), use.end(), some) == 1;
        type_of_use_.push_back(pure ? static_cast<std::size_t>(first - use.begin()) : types());
    }
    steps_.resize(2 * uses_.size());
}

void RelaxedStages::set_cells(const Problem& problem) {
    const auto alike = [&](std::span<const double> values) {
        return values.size() < 3 ||
               std::all_of(
                   values.begin() + 1, values.end() - 1, [&](double value) { return value == values[1]; });
    };
    uniform_ = alike(problem.model.parameters_bytes);
    for (std::size_t entry = 0; entry < problem.profiles.times.size(); ++entry)
        uniform_ = uniform_ && alike(problem.profiles.ms_of(static_cast<std::int32_t>(entry))) &&
                   alike(problem.profiles.memory_mb_of(static_cast<std::int32_t>(entry)));
    const std::uint32_t width = layers_ + 1;
    cell_of_.assign(std::size_t{width} * width, 0);
    for (std::uint32_t length = 1; length <= layers_; ++length)
        for (std::uint32_t a = 0; a + length <= layers_; ++a) {
            const std::uint32_t b = a + length;
            const std::uint32_t at = a * width + b;
            if (uniform_ && a > 1 && b < layers_) {
                cell_of_[at] = cell_of_[width + 1 + length];  // as many layers from the second on
                continue;
            }
            cell_of_[at] = static_cast<std::uint32_t>(cells_.size());
            cells_.push_back(at);
        }
}

std::uint32_t RelaxedStages::kind_of(const std::vector<double>& use) {
    const auto found = std::find(uses_.begin(), uses_.end(), use);
    if (found != uses_.end()) return static_cast<std::uint32_t>(found - uses_.begin());
    uses_.push_back(use);
    return static_cast<std::uint32_t>(uses_.size() - 1);
}

void RelaxedStages::add_pure(const Problem& problem, const BestPlaces& places, LayerTables& tables,
                             const Ranks& any) {
    StageOptions options(problem, CostModel::strict, any, tables, batches_);
    for (std::uint32_t type = 0; type < problem.types.size(); ++type)
        for (std::uint32_t log2_gpus = 0; log2_gpus < places.exists[type].size(); ++log2_gpus) {
            if (places.exists[type][log2_gpus] == 0) continue;
            const std::uint32_t gpus = 1U << log2_gpus;
            std::vector<double> use(problem.types.size(), 0.0);
            use[type] = gpus / budget_[type];
            const std::uint32_t kind = kind_of(use);
            for (std::uint32_t tp = 1; tp <= gpus && tp <= problem.options.max_tp; tp *= 2) {
                const RelaxedTerms terms = options.relaxed(
                    type, gpus, tp, places.reduction_gbps[type][log2_gpus][log2_of(tp)], cells_);
                if (terms.execution_ms == nullptr) continue;
                least_gap_ms_ = std::min(least_gap_ms_, terms.gap_ms);
                const auto sending_ms = [&](double gbps) {
                    return gbps > 0 ? terms.sent_bytes / (gbps * kBytesPerMs) : kInfinite;
                };
                ways_.push_back({kind, terms.execution_ms, tables.parameters_bytes(), terms.tail_per_byte,
                                 sending_ms(places.within_gbps[type][log2_gpus]),
                                 sending_ms(places.across_gbps[type][log2_gpus]), terms.gap_ms,
                                 terms.most_in_flight});
            }
        }
}

void RelaxedStages::add_mixed(const Problem& problem, const std::vector<std::unique_ptr<Ranks>>& ranks,
                              LayerTables& tables) {
    const std::uint32_t gpus = problem.gpus();
    const std::size_t width = layers_ + 1;
    std::map<std::vector<double>, std::size_t> known;
    for (const std::unique_ptr<Ranks>& order : ranks) {
        StageOptions options(problem, CostModel::strict, *order, tables, batches_);
        for (std::uint32_t size = 2; size <= gpus; size *= 2)
            for (std::uint32_t start = 0; start + size <= gpus; start += size) {
                if (order->pure(start, size)) continue;
                std::vector<double> use(problem.types.size(), 0.0);
                for (std::uint32_t rank = start; rank < start + size; ++rank)
                    use[order->type(rank)] += 1 / budget_[order->type(rank)];
                const std::vector<StageOption>& ways = options.at(start, size);
                if (ways.empty()) continue;
                const auto [place, fresh] = known.try_emplace(use, mixed_.size());
                if (fresh) {
                    const std::vector<double> infinite(cells_.size(), kInfinite);
                    mixed_.push_back({kind_of(use), infinite, infinite, infinite,
                                      std::vector<std::uint16_t>(cells_.size(), 0)});
                }
                MixedWay& mixed = mixed_[place->second];
                for (const StageOption& way : ways)
                    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
                        const std::size_t at = cells_[cell];
                        if (way.table->most_in_flight[at] == 0) continue;
                        const bool last = at % width == layers_;
                        const double ms = way.table->execution_ms[at] + (last ? 0.0 : way.least_link_ms);
                        const double sum = ms + (last ? way.gap_ms : 0.0);
                        mixed.period_ms[cell] = std::min(mixed.period_ms[cell], ms);
                        mixed.sum_ms[cell] = std::min(mixed.sum_ms[cell], sum);
                        mixed.most_in_flight[cell] =
                            std::max(mixed.most_in_flight[cell], way.table->most_in_flight[at]);
                        mixed.tail_ms[cell] = std::min(mixed.tail_ms[cell], way.table->tail_ms(at));
                    }
                for (const StageOption& way : ways)
                    if (way.gap_ms < kInfinite) least_gap_ms_ = std::min(least_gap_ms_, way.gap_ms);
            }
    }
}

Box RelaxedStages::root(double best_ms) const {
    Box box;
    box.batches = batches_;
    const double room = best_ms - std::min(0.0, least_gap_ms_);  // gaps can be negative
    box.period_high_ms = room / static_cast<double>(batches_);
    box.tail_high_ms = room;
    box.multipliers.assign(budget_.size(), 0.0);
    box.bound_ms = std::min(0.0, least_gap_ms_);
    return box;
}

}  // namespace dse::planner::exact
