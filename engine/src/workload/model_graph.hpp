// The operators of the whole model in list order, connected and assigned to pipeline stages.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "workload/block_template.hpp"

namespace dse::workload {

/// Widths and counts of a transformer (workload spec, section 1).
struct ModelSpec {
    std::int64_t input_dim = 0, output_dim = 0;
    std::int64_t d_model = 0, d_ff = 0, num_heads = 0;
    std::int64_t seq_len = 0, batch_size = 0, num_layers = 0;
};

SymbolValues symbol_values(const ModelSpec& model, const StrategySpec& strategy);

/// One operator of the model. Operands are indices into ModelGraph::operators, -1 for none.
struct Operator {
    const OperatorTemplate* shape = nullptr;
    const CollectiveChain* chain1 = nullptr;
    OperatorKind kind = OperatorKind::kSource;
    bool update = false;
    BlockKind block = BlockKind::kInputEmbedding;
    std::int32_t layer = 0;
    std::int32_t stage = 0;
    std::int32_t operand1 = -1;
    std::int32_t operand2 = -1;
    std::int32_t waits_for = -1;

    bool computes() const { return kind != OperatorKind::kSource && kind != OperatorKind::kAlias; }
};

/// Owns the compiled blocks that its operators point to; neither copied nor moved.
class ModelGraph {
public:
    ModelGraph(const ModelSpec& model, const StrategySpec& strategy);
    ModelGraph(const ModelGraph&) = delete;
    ModelGraph& operator=(const ModelGraph&) = delete;

    const std::vector<Operator>& operators() const { return operators_; }

    /// Stage numbers in order of first appearance in the list.
    const std::vector<std::int32_t>& stage_order() const { return stage_order_; }

    /// Full name with suffix, such as `stack_0_mha_q@0`.
    std::string id_of(const Operator& op) const;

private:
    const BlockTemplate& block(BlockKind kind) const { return blocks_[static_cast<std::size_t>(kind)]; }
    std::int32_t append_block(BlockKind kind, std::int32_t layer, std::int32_t stage);
    void append_updates(BlockKind kind, std::int32_t layer, std::int32_t stage, std::int32_t base);
    void connect(const BlockCompiler& compiler, std::int32_t alias, std::int32_t target);
    std::int32_t at(BlockKind kind, std::int32_t base, std::string_view name) const;
    void connect_all(const BlockCompiler& compiler);
    void order_stages();

    std::array<BlockTemplate, 4> blocks_;
    std::vector<Operator> operators_;
    std::vector<std::int32_t> stage_order_;
    CollectiveChain head_gradient_chain_;  ///< into the last layer's `dnorm`, the one alias with a collective
    CollectiveChain no_chain_;
    std::int32_t input_base_ = 0, output_base_ = 0;
    std::vector<std::int32_t> attention_base_, feed_forward_base_;
};

}  // namespace dse::workload
