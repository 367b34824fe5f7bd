// Conditions of divisibility and their reasons.
#include "answers/explorer/feasibility.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace dse::explorer {

namespace {

using workload::StrategySpec;

__extension__ typedef __int128 Wide;  // products of degrees, multiples of widths

std::string text_of(Wide value) {
    std::string digits;
    const bool negative = value < 0;
    do {
        const int digit = static_cast<int>(value % 10);
        digits += static_cast<char>('0' + (negative ? -digit : digit));
        value /= 10;
    } while (value != 0);
    if (negative) digits += '-';
    std::reverse(digits.begin(), digits.end());
    return digits;
}

std::string text_of(std::int64_t value) { return std::to_string(value); }

struct Condition {
    std::string_view divisor_name;
    std::int64_t divisor;
    std::string_view size_name;
    std::int64_t size;

    bool holds() const { return size % divisor == 0; }
    std::string reason() const {
        const std::int64_t below = size / divisor * divisor;
        const std::string above = text_of(Wide{below} + divisor);
        return std::string(divisor_name) + " " + text_of(divisor) + " does not divide " +
               std::string(size_name) + " " + text_of(size) + " (nearest multiples of " + text_of(divisor) +
               ": " + (below > 0 ? text_of(below) + ", " + above : text_of(divisor)) + ")";
    }
};

using Conditions = std::vector<Condition>;

/// The units that no program can split: a sequence, a token or a head.
Conditions units(const Model& model, const StrategySpec& strategy) {
    const workload::ModelSpec& spec = model.spec;
    const std::int64_t count = model.micro_batches_on(strategy);
    Conditions conditions = {
        count == 1 ? Condition{"dp", strategy.dp, "batch_size", spec.batch_size}
                   : Condition{"dp*micro_batches", strategy.dp * count, "batch_size", spec.batch_size},
        {"sp", strategy.sp, "seq_len", spec.seq_len},
        {"tp", strategy.tp, "num_heads", spec.num_heads},
        {"num_heads", spec.num_heads, "d_model", spec.d_model}};
    if (spec.shown_kv_heads() != spec.num_heads)
        conditions.push_back({"tp", strategy.tp, "num_kv_heads", spec.shown_kv_heads()});
    return conditions;
}

/// Widths of matrices: programs pad them, by less than one row.
void add_widths(Conditions& conditions, const Model& model, const StrategySpec& strategy) {
    const workload::ModelSpec& spec = model.spec;
    const std::int64_t dp = strategy.dp, tp = strategy.tp, sp = strategy.sp;
    conditions.insert(conditions.end(), {{"tp", tp, "d_ff", spec.d_ff},
                                         {"tp", tp, "input_dim", spec.input_dim},
                                         {"tp", tp, "output_dim", spec.output_dim}});
    if (!strategy.weight_sharded) return;
    conditions.insert(conditions.end(), {{"dp*sp", dp * sp, "input_dim", spec.input_dim},
                                         {"dp*sp", dp * sp, "d_model", spec.d_model},
                                         {"dp", dp, "d_model", spec.d_model}});
    if (spec.d_model % spec.num_heads == 0)
        conditions.push_back({"sp", sp, "d_model/num_heads", spec.d_model / spec.num_heads});
}

/// Contiguous stages of a realistic model that differ in their layers; none is cut then.
void add_stages(Conditions& conditions, const Model& model, const StrategySpec& strategy) {
    if (!model.is_realistic || !model.spec.fidelity.contiguous_stages) return;
    conditions.push_back({"pp", strategy.pp, "num_layers", model.spec.num_layers});
}

std::string reasons(const Conditions& conditions) {
    std::string text;
    for (const Condition& condition : conditions) {
        if (condition.holds()) continue;
        if (!text.empty()) text += "; ";
        text += condition.reason();
    }
    return text;
}

/// The reasons to refuse a strategy, whatever may divide.
std::string unbuildable(const Model& model, const StrategySpec& strategy) {
    for (const auto& [name, member] : StrategySpec::kDegrees) {
        const std::int64_t degree = strategy.*member;
        if (degree < 1)
            return "strategy." + std::string(name) + " is " + text_of(degree) + "; it must be at least 1";
    }
    const std::string pp = text_of(strategy.pp), layers = text_of(model.spec.num_layers);
    if (model.spec.fidelity.contiguous_stages && strategy.pp > model.spec.num_layers) {
        return "strategy.pp is " + pp + ": contiguous stages have at least one layer each, and " +
               "model.num_layers is " + layers + "; pp must be at most " + layers;
    }
    const std::int64_t blocks = model.spec.num_layers + 2;
    if (strategy.pp <= blocks) return "";
    return "strategy.pp is " + pp + ": more pipeline stages (" + pp + ") than blocks (" + text_of(blocks) +
           ": " + layers +
           " layers and 2 embeddings), so a stage would own no operator; pp must be at most " +
           text_of(blocks);
}

}  // namespace

std::string label_of(const StrategySpec& strategy) {
    std::string label;
    for (const auto& [name, member] : StrategySpec::kDegrees) {
        if (!label.empty()) label += ' ';
        label += name;
        label += text_of(strategy.*member);
    }
    if (strategy.weight_sharded) label += " fsdp";
    if (strategy.activation_recompute) label += " recompute";
    return label;
}

std::string infeasible_reason(const Model& model, const System& system, const StrategySpec& strategy,
                              Divisibility divisibility) {
    Wide npus = 1;
    for (const auto& [name, member] : StrategySpec::kDegrees) npus *= strategy.*member;
    if (npus != Wide{system.npus}) {
        return "strategy " + label_of(strategy) + " needs dp*tp*sp*pp = " + text_of(npus) +
               " NPUs, but system " + system.name + " has " + std::to_string(system.npus);
    }
    if (std::string reason = unbuildable(model, strategy); !reason.empty()) return reason;
    if (divisibility == Divisibility::kStage) return "";
    Conditions conditions = units(model, strategy);
    if (divisibility == Divisibility::kStrict) add_widths(conditions, model, strategy);
    add_stages(conditions, model, strategy);
    const std::string broken = reasons(conditions);
    if (broken.empty()) return "";
    if (divisibility == Divisibility::kStrict)
        return "workload.divisibility=strict: " + broken + "; workload.divisibility=stage cuts the shards";
    return "workload.divisibility=whole, the default of model.fidelity=realistic: " + broken +
           "; workload.divisibility=stage evaluates it nevertheless, with cut shards";
}

std::string impossible_split(const Model& model, const StrategySpec& strategy) {
    return reasons(units(model, strategy));
}

bool is_fractional(const Model& model, const StrategySpec& strategy) {
    Conditions conditions = units(model, strategy);
    add_widths(conditions, model, strategy);
    return std::any_of(conditions.begin(), conditions.end(),
                       [](const Condition& condition) { return !condition.holds(); });
}

}  // namespace dse::explorer
