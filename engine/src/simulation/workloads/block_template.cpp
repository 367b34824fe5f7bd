// Compiles table rows: operand look-up, counts, and collectives by comparing placements.
#include "simulation/workloads/block_template.hpp"

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "simulation/workloads/numbers.hpp"

namespace dse::workload {

namespace {

// Adam of Kingma & Ba 2015, algorithm 1: operations on one parameter.
constexpr double kAdamOperations = 14.0;
// fp32 copy of the weight, momentum and variance (Rajbhandari et al. 2020, section 3.1).
constexpr double kAdamStateBytes = 12.0;

void require_countable(double count, std::string_view what) {
    if (count >= 0x1p63) {
        throw InputError("operator " + std::string(what) + ": a count of " + decimal_text(count) +
                         " exceeds 2^63 - 1; make the model smaller or the degrees larger");
    }
}

/// A layout of grouped-query attention with as many heads of keys and values as of queries.
Layout ungrouped(Layout layout) {
    static constexpr std::pair<Layout, Layout> kLayouts[] = {
        {"Mdg", "Mdh"}, {"BSdg", "BSdh"}, {"Deg", "Deh"}, {"dg", "dh"}, {"Qr", "Q"}};
    for (const auto& [grouped, plain] : kLayouts) {
        if (layout == grouped) return plain;
    }
    return layout;
}

}  // namespace

Features Variant::features(const StrategySpec& strategy) const {
    Features result = 0;
    const auto add = [&](bool on, Features feature) { result |= on ? feature : 0U; };
    add(strategy.weight_sharded, kShardedWeights);
    if (strategy.activation_recompute) {
        const bool stage = fidelity.recompute == Recompute::kStage;
        add(stage, strategy.weight_sharded ? kStageRecomputeSharded : kStageRecomputeReplicated);
        add(fidelity.recompute == Recompute::kSelective, kSelectiveRecompute);
        add(fidelity.recompute == Recompute::kFull, kFullRecompute);
    }
    add(gated, kGated);
    add(fidelity.output_projection, kProjection);
    add(fidelity.nonlinear_operators, kNonlinear);
    add(fidelity.loss, kLoss);
    add(fidelity.embedding_lookup, kEmbeddingTable);
    add(fidelity.no_input_gradient, kNoInputGradient);
    add(fidelity.optimizer_state, kOptimizer);
    add(fidelity.just_in_time_gathers, kJustInTime);
    add(fidelity.shared_gathers, kShared);
    return result;
}

/// Where each axis is used by a layout: not at all, sharding a dimension, or hidden in a partial sum.
struct BlockCompiler::Placement {
    enum class Use : std::uint8_t { kAbsent, kSharded, kPartial };
    std::array<Use, kAxes.size()> use{};
    std::array<char, kAxes.size()> dimension{};
};

/// Finds operands by name, rows that only stand for another one included.
class BlockCompiler::Names {
public:
    explicit Names(const BlockTemplate& block) : block_(block) {}

    void stand_for(std::string_view name, int target) { aliases_.emplace_back(name, target); }

    int find(std::string_view name) const {
        if (name.empty()) return -1;
        if (name.back() != '\'') return find_plain(name);
        std::string recomputed(name.substr(0, name.size() - 1));
        const std::size_t length = recomputed.size();
        const int found = find_plain(recomputed += "_recomp");
        return found >= 0 ? found : find_plain(name.substr(0, length));
    }

private:
    int find_plain(std::string_view name) const {
        const int found = block_.find(name);
        if (found >= 0) return found;
        for (const auto& [alias, target] : aliases_) {
            if (alias == name) return target;
        }
        return -1;
    }

    const BlockTemplate& block_;
    std::vector<std::pair<std::string_view, int>> aliases_;
};

BlockCompiler::BlockCompiler(const SymbolValues& values, const StrategySpec& strategy, const Variant& variant)
    : values_(values), strategy_(strategy), variant_(variant), features_(variant.features(strategy)) {}

double BlockCompiler::size(Layout layout, double element_bytes) const {
    return evaluate(size_of(layout), values_) * element_bytes;
}

Layout BlockCompiler::shown(Layout layout) const { return variant_.grouped ? layout : ungrouped(layout); }

BlockCompiler::Placement BlockCompiler::place(Layout layout, Layout partial) const {
    Placement placement;
    const auto claim = [&](char letter, Placement::Use use) {
        for (const Axis axis : kAxes) {
            const auto index = static_cast<std::size_t>(axis);
            const bool free = placement.use[index] == Placement::Use::kAbsent;
            if (strategy_.degree(axis) > 1 && free && token(letter).contains(axis)) {
                placement.use[index] = use;
                placement.dimension[index] = letter;
                if (!variant_.fidelity.consistent_sharding) return;  // the reference claims one axis at most
            }
        }
    };
    for (const char letter : layout) claim(letter, Placement::Use::kSharded);
    for (const char letter : partial) claim(letter, Placement::Use::kPartial);
    return placement;
}

CollectiveChain BlockCompiler::chain(const OperatorTemplate& producer, Layout wanted) const {
    using Use = Placement::Use;
    const Placement from = place(producer.result, producer.partial);
    const Placement to = place(wanted, {});
    CollectiveChain result;
    double bytes = producer.result_size;
    const auto add = [&](Axis axis, CollectiveType type) {
        result.push_back({{axis, type}, bytes});
        if (!variant_.fidelity.consistent_sharding) return;  // the reference repeats the first one's size
        const auto degree = static_cast<double>(strategy_.degree(axis));
        if (type == CollectiveType::kAllGather) bytes *= degree;
        if (type == CollectiveType::kReduceScatter) bytes /= degree;
    };
    for (const Axis axis : kAxes) {
        const auto i = static_cast<std::size_t>(axis);
        const Use have = from.use[i];
        const Use want = to.use[i];
        if (have == Use::kPartial) {
            add(axis, want == Use::kSharded ? CollectiveType::kReduceScatter : CollectiveType::kAllReduce);
        } else if (have == Use::kSharded && want == Use::kAbsent) {
            add(axis, CollectiveType::kAllGather);
        } else if (have == Use::kSharded && from.dimension[i] != to.dimension[i]) {
            add(axis, CollectiveType::kAllToAll);
        } else if (have == Use::kAbsent && want == Use::kSharded) {
            throw std::logic_error("operand " + std::string(producer.name) +
                                   " is wanted sharded but is whole");
        }
    }
    return result;
}

int BlockTemplate::find(std::string_view name) const {
    for (std::size_t i = 0; i < operators.size(); ++i) {
        if (operators[i].name == name) return static_cast<int>(i);
    }
    return -1;
}

OperatorTemplate BlockCompiler::compile_row(const OperatorRow& row, const BlockTemplate& block,
                                            const Names& names) const {
    OperatorTemplate op;
    op.name = row.name;
    op.kind = row.kind;
    op.operand1 = names.find(row.operand1);
    op.operand2 = names.find(row.operand2);
    op.result =
        shown(strategy_.weight_sharded && !row.sharded_result.empty() ? row.sharded_result : row.result);
    op.partial = shown(row.contracted);
    op.element_bytes = row.element_bytes > 0.0 ? row.element_bytes
                                               : static_cast<double>(variant_.fidelity.bytes_per_element);
    op.result_size = size(op.result, op.element_bytes);
    require_countable(op.result_size, op.name);
    const bool sums_partial_operands = op.kind == OperatorKind::kSum && !op.partial.empty();
    if (!sums_partial_operands) {
        const Layout wanted1 = op.kind == OperatorKind::kBuffer ? op.result : shown(row.wanted1);
        if (op.operand1 >= 0)
            op.chain1 = chain(block.operators[static_cast<std::size_t>(op.operand1)], wanted1);
        if (op.operand2 >= 0)
            op.chain2 = chain(block.operators[static_cast<std::size_t>(op.operand2)], shown(row.wanted2));
    }
    if (op.kind == OperatorKind::kBuffer) op.partial = {};
    if (op.computes()) compile_sizes(row, block, op);
    return op;
}

void BlockCompiler::compile_sizes(const OperatorRow& row, const BlockTemplate& block,
                                  OperatorTemplate& op) const {
    const auto operand_size = [&](int operand, Layout wanted) {
        if (wanted.empty()) return 0.0;
        const double bytes =
            operand < 0 ? op.element_bytes : block.operators[static_cast<std::size_t>(operand)].element_bytes;
        return size(shown(wanted), bytes);
    };
    const bool contraction = op.kind == OperatorKind::kContraction;
    Monomial operations = size_of(op.result);
    if (contraction) operations *= size_of(op.partial);
    if (op.kind == OperatorKind::kScatter) operations = size_of(row.wanted1);
    operations.times_five = op.kind == OperatorKind::kElementwise;
    op.num_ops = evaluate(operations, values_);
    if (contraction && variant_.fidelity.multiply_add_as_two) op.num_ops *= 2.0;
    op.tensor_size =
        op.result_size + operand_size(op.operand1, row.wanted1) + operand_size(op.operand2, row.wanted2);
    if (op.kind == OperatorKind::kLookup) {  // reads the rows that it yields, not the whole table
        op.tensor_size = op.result_size + operand_size(op.operand1, row.wanted1) + op.result_size;
    }
    require_countable(op.num_ops, op.name);
    require_countable(op.tensor_size, op.name);
}

UpdateTemplate BlockCompiler::compile_update(const UpdateRow& row, const Names& names,
                                             BlockTemplate& block) const {
    UpdateTemplate result;
    result.gradient = names.find(row.gradient);
    OperatorTemplate& op = result.update;
    op.name = row.weight;
    op.kind = OperatorKind::kSum;
    op.operand1 = block.find(row.weight);
    op.operand2 = result.gradient;
    const OperatorTemplate& gradient = block.operators[static_cast<std::size_t>(result.gradient)];
    op.result = block.operators[static_cast<std::size_t>(op.operand1)].result;
    op.element_bytes = gradient.element_bytes;
    op.result_size = size(op.result, op.element_bytes);
    op.chain2 = chain(gradient, op.result);
    op.num_ops = evaluate(size_of(op.result), values_);
    op.tensor_size = op.result_size + op.result_size + op.result_size;

    result.sum = gradient;
    result.sum.name = row.sum;
    result.sum.kind = OperatorKind::kSum;
    result.sum.chain1 = result.sum.chain2 = {};
    result.sum.num_ops = evaluate(size_of(gradient.result), values_);
    result.sum.tensor_size = 3.0 * gradient.result_size;

    if (variant_.fidelity.optimizer_state) {
        result.reduces = !op.chain2.empty();
        const CollectiveChain chain_of_sum = std::exchange(op.chain2, {});
        result.reduced = op;
        result.reduced.name = row.reduced;
        result.reduced.kind = OperatorKind::kBuffer;
        result.reduced.chain1 = chain_of_sum;
        const double state_size = size(op.result, kAdamStateBytes);
        op.state = static_cast<int>(block.operators.size());
        op.num_ops *= kAdamOperations;
        op.tensor_size += 2.0 * state_size;
        block.operators.push_back({.name = row.state,
                                   .kind = OperatorKind::kSource,
                                   .result = op.result,
                                   .element_bytes = kAdamStateBytes,
                                   .result_size = state_size});
    }
    require_countable(op.tensor_size, op.name);
    return result;
}

BlockTemplate BlockCompiler::compile(BlockKind kind) const {
    const BlockTable table = block_table(kind);
    BlockTemplate block;
    Names names(block);
    std::vector<std::string_view> awaited;
    for (const OperatorRow& row : table.operators) {
        const When& when = row.when;
        if ((features_ & when.none_of) != 0U) continue;
        if (when.any_of != 0U && (features_ & when.any_of) == 0U) continue;
        if ((features_ & when.all_of) != when.all_of) {
            names.stand_for(row.name, names.find(row.operand1));
            continue;
        }
        OperatorTemplate op = compile_row(row, block, names);
        if (op.kind == OperatorKind::kBuffer && op.chain1.empty()) {  // nothing to communicate
            names.stand_for(row.name, op.operand1);
            continue;
        }
        if (op.kind == OperatorKind::kSideResult) {
            block.operators[static_cast<std::size_t>(op.operand1)].tensor_size += op.result_size;
        }
        block.operators.push_back(std::move(op));
        awaited.push_back(row.waits_for);
    }
    for (std::size_t i = 0; i < awaited.size(); ++i) {
        if (!awaited[i].empty()) block.operators[i].waits_for = block.find(awaited[i]);
    }
    for (const UpdateRow& row : table.updates) {
        if (block.find(row.weight) >= 0) block.updates.push_back(compile_update(row, names, block));
    }
    return block;
}

}  // namespace dse::workload
