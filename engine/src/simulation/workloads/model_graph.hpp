// The operators of the whole model in list order, connected and assigned to pipeline stages by a schedule.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/cancellation.hpp"
#include "simulation/workloads/block_template.hpp"
#include "simulation/workloads/schedule.hpp"

namespace dse::workload {

/// Widths and counts of a transformer, and how truly it is modelled.
struct ModelSpec {
    std::int64_t input_dim = 0, output_dim = 0;
    std::int64_t d_model = 0, d_ff = 0, num_heads = 0;
    std::int64_t seq_len = 0, batch_size = 0, num_layers = 0;
    std::int64_t num_kv_heads = 0;  ///< 0: num_heads
    bool gated_mlp = false;
    Fidelity fidelity = {};

    /// Heads of keys and values that the model shows at its fidelity.
    std::int64_t shown_kv_heads() const {
        return fidelity.block_shapes && num_kv_heads > 0 ? num_kv_heads : num_heads;
    }
};

/// With micro-batches the batch is that of one of them.
SymbolValues symbol_values(const ModelSpec& model, const StrategySpec& strategy);

BlockCompiler block_compiler(const ModelSpec& model, const StrategySpec& strategy);

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

    bool computes() const { return leaves_compute_node(kind); }

    /// The optimiser's state that an update reads: a source of the same block as the weight.
    std::int32_t state() const { return operand1 + shape->state - shape->operand1; }
};

/// Owns the compiled blocks that its operators point to; neither copied nor moved.
class ModelGraph {
public:
    ModelGraph(const ModelSpec& model, const StrategySpec& strategy, const Checkpoint& checkpoint);
    ModelGraph(const ModelGraph&) = delete;
    ModelGraph& operator=(const ModelGraph&) = delete;

    const std::vector<Operator>& operators() const { return operators_; }

    /// Whether some operators write a second tensor.
    bool has_side_results() const { return fidelity_.nonlinear_operators; }

    /// Stage numbers in order of first appearance in the list.
    const std::vector<std::int32_t>& stage_order() const { return stage_order_; }

    /// The operator that the receiving stage waits for before it receives the result, -1 for none.
    std::int32_t receive_waits_for(std::int32_t op) const {
        const auto found = receive_waits_for_.find(op);
        return found == receive_waits_for_.end() ? -1 : found->second;
    }

    /// Full name with suffix, such as `stack_0_mha_q@0`.
    std::string id_of(const Operator& op) const;

private:
    /// Where a block of a micro-batch begins in the list.
    struct Block {
        BlockKind kind = BlockKind::kInputEmbedding;
        std::int32_t layer = 0;
        std::int32_t micro_batch = 0;
        std::int32_t stage = 0;
        std::int32_t base = 0;
    };
    /// In the order of the forward pass: input embedding, attention and feed-forward of each layer, output
    /// embedding.
    using Pass = std::vector<Block>;

    const BlockTemplate& block(BlockKind kind) const { return blocks_[static_cast<std::size_t>(kind)]; }
    Operator& op(std::int32_t index) { return operators_[static_cast<std::size_t>(index)]; }
    Pass layout(std::int32_t micro_batch) const;
    void append_block(Block& block);
    void append_sums(const Block& block, std::vector<std::int32_t>& gradients);
    void append_updates(const Block& block, const std::vector<std::int32_t>& gradients);
    void append_all(const Checkpoint& checkpoint);
    std::int32_t append(const Block& place, const OperatorTemplate& shape, std::int32_t operand1,
                        std::int32_t operand2);

    std::int32_t at(const Block& place, std::string_view name) const;
    void connect(const BlockCompiler& compiler, std::int32_t alias, std::int32_t target);
    void connect_pass(const BlockCompiler& compiler, const Pass& pass, const Checkpoint& checkpoint);
    void hold_back_gathers(const Pass& pass, const Pass* previous, const Checkpoint& checkpoint);
    void order_steps(const Checkpoint& checkpoint);
    void hold_back_receive(std::int32_t received, std::int32_t awaited);
    void hold_back_updates(const Checkpoint& checkpoint);
    void stand_for(std::int32_t control, std::int32_t target);
    std::size_t micro_batch_of(const Operator& op) const;
    std::int32_t end_of(const std::optional<Step>& step) const;
    std::int32_t end_of_backward(const Pass& pass, std::int32_t stage) const;
    void order_stages(const Checkpoint& checkpoint);

    std::array<BlockTemplate, 4> blocks_;
    std::vector<Operator> operators_;
    std::vector<std::int32_t> stage_order_;
    CollectiveChain head_gradient_chain_;  ///< into the last layer's `dnorm`, the one alias with a collective
    CollectiveChain no_chain_;
    Fidelity fidelity_;
    bool recomputes_layers_;
    std::int32_t layers_, stages_;
    std::unique_ptr<const Schedule> schedule_;
    std::vector<Pass> passes_;  ///< one a micro-batch
    std::size_t updates_begin_ = 0;
    std::unordered_map<std::int32_t, std::int32_t> receive_waits_for_;
};

}  // namespace dse::workload
