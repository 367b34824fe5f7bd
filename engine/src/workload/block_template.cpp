// Compiles table rows: operand look-up, counts, and collectives by comparing placements.
#include "workload/block_template.hpp"

#include <array>
#include <stdexcept>
#include <string>

#include "core/error.hpp"
#include "workload/numbers.hpp"

namespace dse::workload {

namespace {

bool exists(When when, const StrategySpec& strategy) {
    switch (when) {
        case When::kAlways:
            return true;
        case When::kRecompute:
            return strategy.activation_recompute;
        case When::kRecomputeReplicated:
            return strategy.activation_recompute && !strategy.weight_sharded;
        case When::kRecomputeSharded:
            break;
    }
    return strategy.activation_recompute && strategy.weight_sharded;
}

void require_countable(double count, std::string_view what) {
    if (count >= 0x1p63) {
        throw InputError("operator " + std::string(what) + ": a count of " + decimal_text(count) +
                         " exceeds 2^63 - 1; make the model smaller or the degrees larger");
    }
}

}  // namespace

/// Where each axis is used by a layout: not at all, sharding a dimension, or hidden in a partial sum.
struct BlockCompiler::Placement {
    enum class Use : std::uint8_t { kAbsent, kSharded, kPartial };
    std::array<Use, 3> use{};
    std::array<char, 3> dimension{};
};

BlockCompiler::BlockCompiler(const SymbolValues& values, const StrategySpec& strategy)
    : values_(values), strategy_(strategy) {}

double BlockCompiler::size(Layout layout) const { return evaluate(size_of(layout), values_); }

BlockCompiler::Placement BlockCompiler::place(Layout layout, Layout partial) const {
    Placement placement;
    const auto claim = [&](char letter, Placement::Use use) {
        for (const Axis axis : kAxes) {
            const auto index = static_cast<std::size_t>(axis);
            const bool free = placement.use[index] == Placement::Use::kAbsent;
            if (strategy_.degree(axis) > 1 && free && token(letter).contains(axis)) {
                placement.use[index] = use;
                placement.dimension[index] = letter;
                return;
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
    result.bytes = producer.result_size;
    for (const Axis axis : kAxes) {
        const auto i = static_cast<std::size_t>(axis);
        const Use have = from.use[i];
        const Use want = to.use[i];
        if (have == Use::kPartial) {
            result.collectives.push_back(
                {axis, want == Use::kSharded ? CollectiveType::kReduceScatter : CollectiveType::kAllReduce});
        } else if (have == Use::kSharded && want == Use::kAbsent) {
            result.collectives.push_back({axis, CollectiveType::kAllGather});
        } else if (have == Use::kSharded && from.dimension[i] != to.dimension[i]) {
            result.collectives.push_back({axis, CollectiveType::kAllToAll});
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

OperatorTemplate BlockCompiler::compile_row(const OperatorRow& row, const BlockTemplate& block) const {
    const auto operand = [&](std::string_view name) {
        if (name.empty()) return -1;
        if (name.back() != '\'') return block.find(name);
        std::string base(name.substr(0, name.size() - 1));
        return block.find(strategy_.activation_recompute ? base + "_recomp" : base);
    };
    OperatorTemplate op;
    op.name = row.name;
    op.kind = row.kind;
    op.operand1 = operand(row.operand1);
    op.operand2 = operand(row.operand2);
    op.result = strategy_.weight_sharded && !row.sharded_result.empty() ? row.sharded_result : row.result;
    op.partial = row.contracted;
    op.result_size = size(op.result);
    require_countable(op.result_size, op.name);
    if (op.operand1 >= 0)
        op.chain1 = chain(block.operators[static_cast<std::size_t>(op.operand1)], row.wanted1);
    if (op.operand2 >= 0)
        op.chain2 = chain(block.operators[static_cast<std::size_t>(op.operand2)], row.wanted2);
    if (!op.computes()) return op;

    Monomial operations = size_of(op.result) * size_of(row.contracted);
    operations.times_five = row.kind == OperatorKind::kElementwise;
    op.num_ops = evaluate(operations, values_);
    op.tensor_size = op.result_size + size(row.wanted1) + (row.wanted2.empty() ? 0.0 : size(row.wanted2));
    require_countable(op.num_ops, op.name);
    require_countable(op.tensor_size, op.name);
    return op;
}

OperatorTemplate BlockCompiler::compile_update(const UpdateRow& row, const BlockTemplate& block) const {
    OperatorTemplate op;
    op.name = row.weight;
    op.kind = OperatorKind::kSum;
    op.operand1 = block.find(row.weight);
    op.operand2 = block.find(row.gradient);
    op.result = block.operators[static_cast<std::size_t>(op.operand1)].result;
    op.result_size = size(op.result);
    op.chain2 = chain(block.operators[static_cast<std::size_t>(op.operand2)], op.result);
    op.num_ops = op.result_size;
    op.tensor_size = op.result_size + op.result_size + op.result_size;
    require_countable(op.tensor_size, op.name);
    return op;
}

BlockTemplate BlockCompiler::compile(BlockKind kind) const {
    const BlockTable table = block_table(kind);
    BlockTemplate block;
    std::vector<std::string_view> awaited;
    for (const OperatorRow& row : table.operators) {
        if (!exists(row.when, strategy_)) continue;
        block.operators.push_back(compile_row(row, block));
        awaited.push_back(row.waits_for);
    }
    for (std::size_t i = 0; i < awaited.size(); ++i) {
        if (!awaited[i].empty()) block.operators[i].waits_for = block.find(awaited[i]);
    }
    for (const UpdateRow& row : table.updates) block.updates.push_back(compile_update(row, block));
    return block;
}

}  // namespace dse::workload
