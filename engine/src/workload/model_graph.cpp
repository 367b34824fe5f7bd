// Instantiates the compiled blocks layer by layer (workload spec, sections 5 and 6).
#include "workload/model_graph.hpp"

#include <algorithm>

namespace dse::workload {

SymbolValues symbol_values(const ModelSpec& model, const StrategySpec& strategy) {
    return {model.input_dim, model.output_dim, model.d_model, model.d_ff,  model.num_heads,
            model.seq_len,   model.batch_size, strategy.dp,   strategy.tp, strategy.sp};
}

ModelGraph::ModelGraph(const ModelSpec& model, const StrategySpec& strategy) {
    const BlockCompiler compiler(symbol_values(model, strategy), strategy);
    for (std::size_t kind = 0; kind < blocks_.size(); ++kind) {
        blocks_[kind] = compiler.compile(static_cast<BlockKind>(kind));
    }
    const auto layers = static_cast<std::int32_t>(model.num_layers);
    const auto stages = static_cast<std::int32_t>(strategy.pp);
    const auto layer_stage = [stages](std::int32_t layer) { return (layer + 1) % stages; };
    const std::int32_t output_stage = (layers + 1) % stages;

    input_base_ = append_block(BlockKind::kInputEmbedding, 0, 0);
    output_base_ = append_block(BlockKind::kOutputEmbedding, 0, output_stage);
    for (std::int32_t layer = 0; layer < layers; ++layer) {
        attention_base_.push_back(append_block(BlockKind::kAttention, layer, layer_stage(layer)));
        feed_forward_base_.push_back(append_block(BlockKind::kFeedForward, layer, layer_stage(layer)));
    }
    append_updates(BlockKind::kInputEmbedding, 0, 0, input_base_);
    append_updates(BlockKind::kOutputEmbedding, 0, output_stage, output_base_);
    for (std::int32_t layer = 0; layer < layers; ++layer) {
        const auto index = static_cast<std::size_t>(layer);
        append_updates(BlockKind::kAttention, layer, layer_stage(layer), attention_base_[index]);
        append_updates(BlockKind::kFeedForward, layer, layer_stage(layer), feed_forward_base_[index]);
    }
    connect_all(compiler);
    order_stages();
}

std::int32_t ModelGraph::append_block(BlockKind kind, std::int32_t layer, std::int32_t stage) {
    const auto base = static_cast<std::int32_t>(operators_.size());
    const auto global = [base](int local) { return local < 0 ? -1 : base + local; };
    for (const OperatorTemplate& shape : block(kind).operators) {
        operators_.push_back({.shape = &shape,
                              .chain1 = &shape.chain1,
                              .kind = shape.kind,
                              .block = kind,
                              .layer = layer,
                              .stage = stage,
                              .operand1 = global(shape.operand1),
                              .operand2 = global(shape.operand2),
                              .waits_for = global(shape.waits_for)});
    }
    return base;
}

void ModelGraph::append_updates(BlockKind kind, std::int32_t layer, std::int32_t stage, std::int32_t base) {
    for (const OperatorTemplate& shape : block(kind).updates) {
        operators_.push_back({.shape = &shape,
                              .chain1 = &shape.chain1,
                              .kind = shape.kind,
                              .update = true,
                              .block = kind,
                              .layer = layer,
                              .stage = stage,
                              .operand1 = base + shape.operand1,
                              .operand2 = base + shape.operand2});
    }
}

std::int32_t ModelGraph::at(BlockKind kind, std::int32_t base, std::string_view name) const {
    return base + block(kind).find(name);
}

void ModelGraph::connect(const BlockCompiler& compiler, std::int32_t alias, std::int32_t target) {
    Operator& op = operators_[static_cast<std::size_t>(alias)];
    const OperatorTemplate& producer = *operators_[static_cast<std::size_t>(target)].shape;
    op.kind = OperatorKind::kAlias;
    op.operand1 = target;
    op.chain1 = &no_chain_;
    if (producer.result != op.shape->result || !producer.partial.empty()) {
        CollectiveChain chain = compiler.chain(producer, op.shape->result);
        if (!chain.collectives.empty()) {
            head_gradient_chain_ = std::move(chain);
            op.chain1 = &head_gradient_chain_;
        }
    }
}

void ModelGraph::connect_all(const BlockCompiler& compiler) {
    using enum BlockKind;
    const auto layers = attention_base_.size();
    connect(compiler, at(kOutputEmbedding, output_base_, "dy"), at(kOutputEmbedding, output_base_, "y"));
    for (std::size_t l = 0; l < layers; ++l) {
        const std::int32_t attention = attention_base_[l];
        const std::int32_t feed_forward = feed_forward_base_[l];
        connect(compiler, at(kFeedForward, feed_forward, "x0"), at(kAttention, attention, "norm"));
        connect(compiler, at(kAttention, attention, "d_norm"), at(kFeedForward, feed_forward, "dx0"));
        if (l == 0) {
            connect(compiler, at(kAttention, attention, "x"), at(kInputEmbedding, input_base_, "y"));
            connect(compiler, at(kInputEmbedding, input_base_, "dy"), at(kAttention, attention, "d_x"));
        } else {
            const std::int32_t previous = feed_forward_base_[l - 1];
            connect(compiler, at(kAttention, attention, "x"), at(kFeedForward, previous, "norm"));
            connect(compiler, at(kFeedForward, previous, "dnorm"), at(kAttention, attention, "d_x"));
        }
    }
    if (layers < 2) return;  // the reference leaves the output embedding of a single layer unconnected
    const std::int32_t last = feed_forward_base_.back();
    connect(compiler, at(kOutputEmbedding, output_base_, "x"), at(kFeedForward, last, "norm"));
    connect(compiler, at(kFeedForward, last, "dnorm"), at(kOutputEmbedding, output_base_, "dx"));
}

void ModelGraph::order_stages() {
    for (const Operator& op : operators_) {
        if (std::find(stage_order_.begin(), stage_order_.end(), op.stage) == stage_order_.end()) {
            stage_order_.push_back(op.stage);
        }
    }
}

std::string ModelGraph::id_of(const Operator& op) const {
    std::string name;
    switch (op.block) {
        case BlockKind::kInputEmbedding:
            name = "in_emb_";
            break;
        case BlockKind::kOutputEmbedding:
            name = "out_emb_";
            break;
        case BlockKind::kAttention:
            name = "stack_" + std::to_string(op.layer) + "_mha_";
            break;
        case BlockKind::kFeedForward:
            name = "stack_" + std::to_string(op.layer) + "_ffn_";
            break;
    }
    name += op.shape->name;
    name += op.update ? "@1" : "@0";
    return name;
}

}  // namespace dse::workload
