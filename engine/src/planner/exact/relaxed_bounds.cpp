// Bounds from the relaxed problem: the cheapest cover of the layers, and the prices that raise it.
#include <algorithm>
#include <cmath>

#include "planner/exact/relaxed.hpp"

namespace dse::planner::exact {

namespace {

constexpr double kPrecision = 1e-4;  // of prices: what is left to gain, relative to the target
constexpr double kShare = 0.05;      // and relative to what the bound is short of it
/// Boxes allow as much more, for the checker adds up otherwise and allows half as much.
constexpr double kEdge = 2e-9;
constexpr double kRounding = 1e-12;      // of the prices in a sum that they cancel in
constexpr double kHighestPrice = 1e300;  // ms; covers at higher ones could overflow

}  // namespace

void RelaxedStages::fold(const Box& box) {
    const std::size_t width = layers_ + 1;
    const double period_high_ms = box.period_high_ms * (1 + kEdge);
    const double tail_high_ms = box.tail_high_ms * (1 + kEdge);
    for (std::vector<Step>& steps : steps_) steps.clear();
    const auto add = [&](std::size_t list, std::size_t cell, std::uint16_t in_flight, double ms) {
        steps_[list].push_back(
            {static_cast<std::uint32_t>(cell), std::min<std::uint32_t>(in_flight, most_), ms});
    };
    for (const Way& way : ways_)
        for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
            const std::size_t at = cells_[cell];
            const double ms = way.execution_ms[at];
            if (way.most_in_flight[cell] == 0 || ms > period_high_ms) continue;
            if (way.tail_per_byte * way.tail_bytes[at] > tail_high_ms) continue;
            if (at % width == layers_) {
                add(2 * way.kind, cell, way.most_in_flight[cell], ms + way.gap_ms);
                continue;
            }
            const double sent[] = {ms + way.within_ms, ms + way.across_ms};
            for (std::size_t across = 0; across < 2; ++across)
                if (sent[across] <= period_high_ms && sent[across] < kInfinite)
                    add(2 * way.kind + across, cell, way.most_in_flight[cell], sent[across]);
        }
    for (const MixedWay& way : mixed_)
        for (std::size_t cell = 0; cell < cells_.size(); ++cell)
            if (way.most_in_flight[cell] > 0 && way.period_ms[cell] <= period_high_ms &&
                way.tail_ms[cell] <= tail_high_ms && way.sum_ms[cell] < kInfinite)
                add(2 * way.kind, cell, way.most_in_flight[cell], way.sum_ms[cell]);
    longest_ = 0;
    for (std::vector<Step>& steps : steps_) keep_steps(steps);
    active_ = 0;
    while (active_ < cells_.size() && cells_[active_] % width - cells_[active_] / width <= longest_)
        ++active_;
}

/// Keeps those that no other of the kind beats in time and micro-batches in flight.
void RelaxedStages::keep_steps(std::vector<Step>& steps) {
    std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
        if (a.cell != b.cell) return a.cell < b.cell;
        return a.ms != b.ms ? a.ms < b.ms : a.in_flight > b.in_flight;
    });
    std::size_t kept = 0;
    for (const Step& step : steps) {
        if (kept > 0 && steps[kept - 1].cell == step.cell && steps[kept - 1].in_flight >= step.in_flight)
            continue;
        steps[kept++] = step;
        const std::uint32_t at = cells_[step.cell];
        longest_ = std::max(longest_, at % (layers_ + 1) - at / (layers_ + 1));
    }
    steps.resize(kept);
}

void RelaxedStages::set_least(const std::vector<double>& price) {
    const std::size_t cells = cells_.size();
    const std::size_t table = (most_ + 1) * cells;
    if (least_->size() < tables() * table) least_->resize(tables() * table);
    double* found = least_->data();
    for (std::size_t row = 0; row < tables() * (most_ + 1); ++row)
        std::fill_n(found + row * cells, active_, kInfinite);
    for (std::size_t list = 0; list < steps_.size(); ++list)
        for (const Step& step : steps_[list]) {
            double& least = found[table_of(list) * table + step.in_flight * cells + step.cell];
            least = std::min(least, step.ms + price[list / 2]);
        }
    for (std::size_t number = 0; number < tables(); ++number)
        for (std::size_t in_flight = most_; in_flight-- > 1;) {
            double* fewer = found + number * table + in_flight * cells;
            const double* more = fewer + cells;
            for (std::size_t cell = 0; cell < active_; ++cell)
                fewer[cell] = more[cell] < fewer[cell] ? more[cell] : fewer[cell];
        }
}

/// The cheapest stage before each type, of all tables, for ends low … high.
void RelaxedStages::combine(std::uint32_t stages, std::uint32_t low, std::uint32_t high) {
    const auto lower = [&](double* to, const double* other) {
        for (std::uint32_t end = low; end <= high; ++end)
            to[end] = other[end] < to[end] ? other[end] : to[end];
    };
    const auto row = [&](std::size_t table) { return &cheapest_[table * (layers_ + 1)]; };
    for (std::size_t next = 0; next <= types(); ++next)
        for (std::size_t table = 0; table < tables(); ++table)
            if (may_precede(table, next)) lower(before(stages, next), row(table));
}

/// Rows start as covers of no layers.
void RelaxedStages::clear(std::uint32_t stages) {
    for (std::size_t type = 0; type <= types(); ++type) {
        std::fill_n(before(stages, type), layers_ + 1, kInfinite);
        before(stages, type)[0] = 0;
    }
}

/// A row of `before_` from the row after it; the last one repeats.
void RelaxedStages::set_row(std::uint32_t stages) {
    const std::uint32_t next = after(stages);
    const std::uint32_t high = layers_ - std::min(stages, layers_ - 1);
    clear(stages);
    for (std::uint32_t end = 1; end <= high; ++end) {
        for (std::size_t table = 0; table < tables(); ++table) {
            const double* earlier = before(next, type_of(table));
            double cost = kInfinite;
            for (std::uint32_t first = end - std::min(end, longest_); first < end; ++first)
                cost = std::min(cost, least(table, next, first, end) + earlier[first]);
            cheapest_[table * (layers_ + 1) + end] = cost;
        }
        combine(stages, end, end);
    }
}

/// The same where all layers but the ends are alike, and rows differ: loops without look-ups.
void RelaxedStages::set_alike_row(std::uint32_t stages) {
    const std::uint32_t next = after(stages);
    const std::uint32_t high = layers_ - std::min(stages, layers_ - 1);
    clear(stages);
    for (std::size_t table = 0; table < tables(); ++table) {
        const double* earlier = before(next, type_of(table));
        double* row = &cheapest_[table * (layers_ + 1)];
        for (std::uint32_t end = 1; end <= high; ++end)
            row[end] = end <= longest_ ? least(table, next, 0, end) : kInfinite;
        for (std::uint32_t length = 1; length <= longest_ && length < high; ++length) {
            const double ms = least(table, next, 1, length + 1);
            if (ms == kInfinite) continue;
            const double* from = earlier - length;
            for (std::uint32_t end = length + 1; end <= high; ++end) {
                const double cost = ms + from[end];
                row[end] = cost < row[end] ? cost : row[end];
            }
        }
    }
    combine(stages, 1, high);
}

/// Of all layers: the last stage has none after it.
void RelaxedStages::set_total() {
    const std::uint32_t next = after(0);
    double total = kInfinite;
    for (std::size_t table = 0; table < tables(); ++table)
        for (std::uint32_t first = layers_ - std::min(layers_, longest_); first < layers_; ++first)
            total = std::min(total, least(table, next, first, layers_) + before(next, type_of(table))[first]);
    before(0, types())[layers_] = total;
}

void RelaxedStages::set_before() {
    for (std::uint32_t stages = most_; stages > 0; --stages)
        if (uniform_ && after(stages) != stages)
            set_alike_row(stages);
        else
            set_row(stages);
    set_total();
}

/// Adds the GPUs of the stages of the cheapest cover.
void RelaxedStages::add_use(const std::vector<double>& price, std::vector<double>& excess) const {
    std::uint32_t stages = 0;
    std::size_t following = types();
    for (std::uint32_t end = layers_; end > 0;) {
        const std::uint32_t next = after(stages);
        const double sought = before(stages, following)[end];
        std::size_t table = 0;
        std::uint32_t first = end;
        for (; table < tables(); ++table) {
            if (!may_precede(table, following)) continue;
            first = end - std::min(end, longest_);
            while (first < end &&
                   least(table, next, first, end) + before(next, type_of(table))[first] != sought)
                ++first;
            if (first < end) break;
        }
        if (table == tables()) return;  // rounding hid it: prices do without, bounds do not need it
        const std::uint32_t cell = cell_of_[first * (layers_ + 1) + end];
        const double ms = least(table, next, first, end);
        bool found = false;
        for (std::size_t list = 0; list < steps_.size() && !found; ++list) {
            if (table_of(list) != table) continue;
            const std::vector<Step>& steps = steps_[list];
            auto step = std::lower_bound(steps.begin(), steps.end(), cell,
                                         [](const Step& a, std::uint32_t b) { return a.cell < b; });
            for (; step != steps.end() && step->cell == cell && !found; ++step)
                found = step->in_flight >= next && step->ms + price[list / 2] == ms;
            if (!found) continue;
            for (std::size_t i = 0; i < excess.size(); ++i) excess[i] += uses_[list / 2][i];
        }
        end = first;
        stages = next;
        following = type_of(table);
    }
}

std::vector<double> RelaxedStages::prices(const std::vector<double>& multipliers) const {
    std::vector<double> price(uses_.size(), 0.0);
    for (std::size_t kind = 0; kind < uses_.size(); ++kind)
        for (std::size_t type = 0; type < multipliers.size(); ++type)
            price[kind] += multipliers[type] * uses_[kind][type];
    return price;
}

double RelaxedStages::value(const std::vector<double>& multipliers, std::vector<double>& excess) {
    std::fill(excess.begin(), excess.end(), -1.0);
    const std::vector<double> price = prices(multipliers);
    // A value that is no number is never the least, and would prove that there is no plan.
    for (const double ms : price)
        if (!(std::abs(ms) < kHighestPrice)) return -kInfinite;
    set_least(price);
    set_before();
    double total = before(0, types())[layers_];
    if (total == kInfinite) return kInfinite;
    add_use(price, excess);
    for (const double multiplier : multipliers) total -= multiplier + kRounding * std::abs(multiplier);
    return total;
}

Completion RelaxedStages::completion(const Box& box) {
    fold(box);
    set_least(prices(box.multipliers));
    set_before();
    return {most_, std::size_t{layers_} + 1, types(), before_};
}

void RelaxedStages::raise(Box& box, double target_ms, std::uint32_t rounds) {
    fold(box);
    const double fixed =
        static_cast<double>(batches_ - 1) * box.period_low_ms + box.tail_low_ms + generators_ms_;
    const std::size_t n = std::max<std::size_t>(2, types());  // a dimension more does no harm to one type
    const auto dimensions = static_cast<double>(n);
    const double radius = (box.bound_ms > 0 ? 0.3 : 2.0) * target_ms;
    std::vector<double> center = box.multipliers;
    std::vector<double> excess(types());
    std::vector<double> shape(n * n, 0.0);
    std::vector<double> along(n);
    for (std::size_t i = 0; i < n; ++i) shape[i * n + i] = radius * radius;
    double best = -kInfinite;
    for (std::uint32_t round = 0; round < rounds; ++round) {
        const double bound = fixed + value(center, excess);
        if (bound == -kInfinite) break;
        if (bound > best) {
            best = bound;
            box.multipliers = center;
        }
        if (best >= target_ms) break;
        double width = 0;
        for (std::size_t i = 0; i < n; ++i) {
            along[i] = 0;
            for (std::size_t k = 0; k < types(); ++k) along[i] += shape[i * n + k] * excess[k];
            if (i < types()) width += along[i] * excess[i];
        }
        if (!(width > 0)) break;
        width = std::sqrt(width);
        const double depth = (best - bound) / width;
        const double worth = std::max(kPrecision * target_ms, kShare * (target_ms - best));
        if (depth >= 1 || bound + width < best + worth) break;
        const double move = (1 + dimensions * depth) / (dimensions + 1);
        for (std::size_t i = 0; i < types(); ++i) center[i] += move * along[i] / width;
        const double grow = dimensions * dimensions / (dimensions * dimensions - 1) * (1 - depth * depth);
        const double cut = 2 * move / (1 + depth) / (width * width);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t k = 0; k < n; ++k)
                shape[i * n + k] = grow * (shape[i * n + k] - cut * along[i] * along[k]);
    }
    box.bound_ms = std::max(box.bound_ms, best);
}

}  // namespace dse::planner::exact
