// Instantiates the compiled blocks layer by layer, once a micro-batch.
#include "simulation/workloads/model_graph.hpp"

#include <algorithm>

namespace dse::workload {

using enum BlockKind;

namespace {

/// The local names by which a block takes its input and its gradient.
std::string_view input_name(BlockKind kind) { return kind == kFeedForward ? "x0" : "x"; }
std::string_view gradient_name(BlockKind kind) {
    return kind == kAttention ? "d_norm" : kind == kFeedForward ? "dnorm" : "dy";
}
/// And by which it gives its output and its input's gradient.
std::string_view output_name(BlockKind kind) {
    return kind == kAttention || kind == kFeedForward ? "norm" : "y";
}
std::string_view input_gradient_name(BlockKind kind) {
    return kind == kAttention ? "d_x" : kind == kFeedForward ? "dx0" : "dx";
}

}  // namespace

SymbolValues symbol_values(const ModelSpec& model, const StrategySpec& strategy) {
    SymbolValues values = {model.input_dim, model.output_dim,
                           model.d_model,   model.d_ff,
                           model.num_heads, model.shown_kv_heads(),
                           model.seq_len,   model.batch_size / model.fidelity.micro_batches};
    for (const Axis axis : kAxes) values[symbol_of(axis)] = strategy.degree(axis);
    return values;
}

BlockCompiler block_compiler(const ModelSpec& model, const StrategySpec& strategy) {
    const Variant variant{model.fidelity, model.shown_kv_heads() != model.num_heads,
                          model.fidelity.block_shapes && model.gated_mlp};
    return {symbol_values(model, strategy), strategy, variant};
}

ModelGraph::ModelGraph(const ModelSpec& model, const StrategySpec& strategy, const Checkpoint& checkpoint)
    : fidelity_(model.fidelity),
      recomputes_layers_(strategy.activation_recompute && model.fidelity.recompute == Recompute::kFull),
      layers_(static_cast<std::int32_t>(model.num_layers)),
      stages_(static_cast<std::int32_t>(strategy.pp)),
      schedule_(schedule_of(model.fidelity.contiguous_stages, layers_, stages_)) {
    const BlockCompiler compiler = block_compiler(model, strategy);
    for (std::size_t kind = 0; kind < blocks_.size(); ++kind) {
        blocks_[kind] = compiler.compile(static_cast<BlockKind>(kind));
    }
    append_all(checkpoint);
    for (const Pass& pass : passes_) connect_pass(compiler, pass, checkpoint);
    if (fidelity_.just_in_time_gathers) {
        for (std::size_t m = 0; m < passes_.size(); ++m) {
            hold_back_gathers(passes_[m], m == 0 ? nullptr : &passes_[m - 1], checkpoint);
        }
    }
    order_steps(checkpoint);
    if (fidelity_.optimizer_state) hold_back_updates(checkpoint);
    order_stages(checkpoint);
}

/// The blocks of one micro-batch with their stages.
ModelGraph::Pass ModelGraph::layout(std::int32_t micro_batch) const {
    Pass pass;
    pass.push_back({kInputEmbedding, 0, micro_batch, 0, 0});
    for (std::int32_t layer = 0; layer < layers_; ++layer) {
        const std::int32_t stage = schedule_->stage_of_layer(layer);
        pass.push_back({kAttention, layer, micro_batch, stage, 0});
        pass.push_back({kFeedForward, layer, micro_batch, stage, 0});
    }
    pass.push_back({kOutputEmbedding, 0, micro_batch, schedule_->stage_of_output_embedding(), 0});
    return pass;
}

/// The reference lists the output embedding second; contiguous stages list it last, which makes it the last
/// stage.
void ModelGraph::append_all(const Checkpoint& checkpoint) {
    std::vector<std::size_t> order(2 * static_cast<std::size_t>(layers_) + 2);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (!fidelity_.contiguous_stages) std::rotate(order.begin() + 1, order.end() - 1, order.end());

    const auto entries = [&](BlockKind kind) {
        return block(kind).operators.size() + block(kind).updates.size();
    };
    const std::size_t layer = entries(kAttention) + entries(kFeedForward);
    operators_.reserve(
        (entries(kInputEmbedding) + entries(kOutputEmbedding) + static_cast<std::size_t>(layers_) * layer) *
        static_cast<std::size_t>(fidelity_.micro_batches));

    std::vector<std::vector<std::int32_t>> gradients(order.size());
    for (std::int32_t m = 0; m < fidelity_.micro_batches; ++m) {
        Pass& pass = passes_.emplace_back(layout(m));
        for (const std::size_t i : order) {
            checkpoint();
            append_block(pass[i]);
            append_sums(pass[i], gradients[i]);
        }
    }
    updates_begin_ = operators_.size();
    for (const std::size_t i : order) {
        checkpoint();
        append_updates(passes_.front()[i], gradients[i]);
    }
}

std::int32_t ModelGraph::append(const Block& place, const OperatorTemplate& shape, std::int32_t operand1,
                                std::int32_t operand2) {
    operators_.push_back({.shape = &shape,
                          .chain1 = &shape.chain1,
                          .kind = shape.kind,
                          .block = place.kind,
                          .layer = place.layer,
                          .stage = place.stage,
                          .operand1 = operand1,
                          .operand2 = operand2});
    return static_cast<std::int32_t>(operators_.size() - 1);
}

void ModelGraph::append_block(Block& place) {
    place.base = static_cast<std::int32_t>(operators_.size());
    const auto global = [&](int local) { return local < 0 ? -1 : place.base + local; };
    for (const OperatorTemplate& shape : block(place.kind).operators) {
        append(place, shape, global(shape.operand1), global(shape.operand2));
        operators_.back().waits_for = global(shape.waits_for);
    }
    if (place.micro_batch == 0) return;
    const Pass& first = passes_.front();
    const auto same = static_cast<std::size_t>(&place - passes_.back().data());
    for (const UpdateTemplate& update : block(place.kind).updates) {
        const std::int32_t weight = update.update.operand1;
        stand_for(place.base + weight, first[same].base + weight);
    }
}

/// Adds the micro-batch's gradients to those so far; of the first, they are the sum.
void ModelGraph::append_sums(const Block& place, std::vector<std::int32_t>& gradients) {
    if (fidelity_.micro_batches == 1) return;
    const std::vector<UpdateTemplate>& updates = block(place.kind).updates;
    gradients.resize(updates.size(), -1);
    for (std::size_t i = 0; i < updates.size(); ++i) {
        const std::int32_t gradient = place.base + updates[i].gradient;
        gradients[i] = gradients[i] < 0 ? gradient : append(place, updates[i].sum, gradients[i], gradient);
    }
}

void ModelGraph::append_updates(const Block& place, const std::vector<std::int32_t>& gradients) {
    const std::vector<UpdateTemplate>& updates = block(place.kind).updates;
    for (std::size_t i = 0; i < updates.size(); ++i) {
        const UpdateTemplate& update = updates[i];
        std::int32_t gradient = gradients.empty() ? place.base + update.gradient : gradients[i];
        if (update.reduces) gradient = append(place, update.reduced, gradient, -1);
        append(place, update.update, place.base + update.update.operand1, gradient);
        operators_.back().update = true;
    }
}

std::int32_t ModelGraph::at(const Block& place, std::string_view name) const {
    const int found = block(place.kind).find(name);
    return found < 0 ? -1 : place.base + found;
}

void ModelGraph::stand_for(std::int32_t control, std::int32_t target) {
    Operator& alias = op(control);
    alias.kind = OperatorKind::kAlias;
    alias.operand1 = target;
    alias.chain1 = &no_chain_;
}

void ModelGraph::connect(const BlockCompiler& compiler, std::int32_t alias, std::int32_t target) {
    const OperatorTemplate& producer = *op(target).shape;
    const OperatorTemplate& consumer = *op(alias).shape;
    stand_for(alias, target);
    if (producer.result != consumer.result || !producer.partial.empty()) {
        CollectiveChain chain = compiler.chain(producer, consumer.result);
        if (!chain.empty()) {
            head_gradient_chain_ = std::move(chain);  // the same for every micro-batch
            op(alias).chain1 = &head_gradient_chain_;
        }
    }
}

void ModelGraph::connect_pass(const BlockCompiler& compiler, const Pass& pass, const Checkpoint& checkpoint) {
    const Block& output = pass.back();
    if (const std::int32_t loss = at(output, "dy"); op(loss).kind == OperatorKind::kSource) {
        connect(compiler, loss, at(output, "y"));
    }
    for (std::size_t i = 1; i < pass.size(); ++i) {
        checkpoint();
        // The reference leaves the output embedding of a single layer unconnected.
        if (i + 1 == pass.size() && layers_ < 2) break;
        const Block& before = pass[i - 1];
        const Block& after = pass[i];
        connect(compiler, at(after, input_name(after.kind)), at(before, output_name(before.kind)));
        connect(compiler, at(before, gradient_name(before.kind)), at(after, input_gradient_name(after.kind)));
        if (after.kind == kFeedForward && recomputes_layers_) {
            connect(compiler, at(after, "x0_recomp"), at(before, "norm_recomp"));
            stand_for(at(before, "layer_gradient"), at(after, "dnorm"));
        }
    }
}

/// Gathers of a block begin when the block before it does: one block ahead.
void ModelGraph::hold_back_gathers(const Pass& pass, const Pass* previous, const Checkpoint& checkpoint) {
    for (std::size_t i = 0; i < pass.size(); ++i) {
        checkpoint();
        const Block& here = pass[i];
        if (i > 0 && pass[i - 1].stage == here.stage) {
            stand_for(at(here, "ahead"), at(pass[i - 1], input_name(pass[i - 1].kind)));
        } else if (previous != nullptr) {  // the stage's last block, one micro-batch earlier
            std::size_t last = i;
            while (last + 1 < pass.size() && pass[last + 1].stage == here.stage) ++last;
            const Block& block = (*previous)[last];
            stand_for(at(here, "ahead"), at(block, input_name(block.kind)));
        }
        if (i + 1 == pass.size()) {
            stand_for(at(here, "behind"), at(here, input_name(here.kind)));
        } else {
            const Block& next = pass[i + 1].stage == here.stage ? pass[i + 1] : here;
            stand_for(at(here, "behind"), at(next, gradient_name(next.kind)));
        }
    }
}

/// The operator that ends a stage's part of a backward pass, -1 if it has no layer.
std::int32_t ModelGraph::end_of_backward(const Pass& pass, std::int32_t stage) const {
    for (const Block& place : pass) {
        if (place.kind == kAttention && place.stage == stage) return at(place, "d_x");
    }
    return -1;
}

/// The operator that ends a step, -1 if there is none.
std::int32_t ModelGraph::end_of(const std::optional<Step>& step) const {
    if (!step) return -1;
    const Pass& pass = passes_[static_cast<std::size_t>(step->micro_batch)];
    if (step->direction == Step::Direction::kBackward) return end_of_backward(pass, step->stage);
    const auto last = std::find_if(pass.rbegin(), pass.rend(),
                                   [&](const Block& place) { return place.stage == step->stage; });
    return last == pass.rend() ? -1 : at(*last, output_name(last->kind));
}

/// A step begins with the product of the input embedding, or with what the stage receives.
void ModelGraph::order_steps(const Checkpoint& checkpoint) {
    using enum Step::Direction;
    for (std::int32_t m = 0; m < fidelity_.micro_batches; ++m) {
        const Pass& pass = passes_[static_cast<std::size_t>(m)];
        const auto awaited = [&](Step::Direction direction, const Block& place) {
            return end_of(schedule_->before({direction, place.stage, m}));
        };
        op(at(pass.front(), "y")).waits_for = awaited(kForward, pass.front());
        for (std::size_t i = 1; i < pass.size(); ++i) {
            checkpoint();
            const Block& before = pass[i - 1];
            const Block& after = pass[i];
            if (before.stage == after.stage) continue;
            hold_back_receive(at(before, output_name(before.kind)), awaited(kForward, after));
            hold_back_receive(at(after, input_gradient_name(after.kind)), awaited(kBackward, before));
        }
    }
}

void ModelGraph::hold_back_receive(std::int32_t received, std::int32_t awaited) {
    if (awaited >= 0) receive_waits_for_[received] = awaited;
}

/// Gradient clipping needs every gradient: a stage updates its weights once its backward pass is over.
void ModelGraph::hold_back_updates(const Checkpoint& checkpoint) {
    std::vector<std::int32_t> ends;
    for (std::int32_t stage = 0; stage < stages_; ++stage) {
        checkpoint();
        ends.push_back(end_of_backward(passes_.back(), stage));
    }
    for (std::size_t i = 0; i < operators_.size(); ++i) {
        checkpoint.every(i);
        Operator& operation = operators_[i];
        if (operation.update) operation.waits_for = ends[static_cast<std::size_t>(operation.stage)];
    }
}

void ModelGraph::order_stages(const Checkpoint& checkpoint) {
    std::vector<bool> seen(static_cast<std::size_t>(stages_), false);
    for (std::size_t i = 0; i < operators_.size(); ++i) {
        checkpoint.every(i);
        const Operator& operation = operators_[i];
        const auto stage = static_cast<std::size_t>(operation.stage);
        if (!seen[stage]) stage_order_.push_back(operation.stage);
        seen[stage] = true;
    }
}

std::size_t ModelGraph::micro_batch_of(const Operator& operation) const {
    const auto index = static_cast<std::size_t>(&operation - operators_.data());
    if (index >= updates_begin_) return 0;
    const auto after = std::upper_bound(
        passes_.begin(), passes_.end(), index,
        [](std::size_t i, const Pass& pass) { return i < static_cast<std::size_t>(pass.front().base); });
    return static_cast<std::size_t>(after - passes_.begin()) - 1;
}

std::string ModelGraph::id_of(const Operator& operation) const {
    std::string name;
    if (const std::size_t m = micro_batch_of(operation); m > 0) name = "batch_" + std::to_string(m) + "_";
    switch (operation.block) {
        case kInputEmbedding:
            name += "in_emb_";
            break;
        case kOutputEmbedding:
            name += "out_emb_";
            break;
        case kAttention:
            name += "stack_" + std::to_string(operation.layer) + "_mha_";
            break;
        case kFeedForward:
            name += "stack_" + std::to_string(operation.layer) + "_ffn_";
            break;
    }
    name += operation.shape->name;
    name += operation.update ? "@1" : "@0";
    return name;
}

}  // namespace dse::workload
