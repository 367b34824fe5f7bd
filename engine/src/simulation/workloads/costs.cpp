// Reads costs from the compiled blocks.
#include "simulation/workloads/costs.hpp"

#include "simulation/workloads/transformer.hpp"

namespace dse::workload {

std::vector<OperatorCost> operator_costs(const ModelSpec& model, const StrategySpec& strategy) {
    const BlockCompiler compiler = block_compiler(model, checked(model, strategy));
    const std::int64_t micro_batches = model.fidelity.micro_batches;
    std::vector<OperatorCost> costs;
    for (const BlockKind kind : {BlockKind::kInputEmbedding, BlockKind::kOutputEmbedding,
                                 BlockKind::kAttention, BlockKind::kFeedForward}) {
        const BlockTemplate block = compiler.compile(kind);
        const auto add = [&](const OperatorTemplate& op, bool update, std::int64_t times, double parameters) {
            if (!op.computes() || times == 0) return;
            costs.push_back({kind, op.name, update, times, op.num_ops, op.tensor_size, parameters});
        };
        for (const OperatorTemplate& op : block.operators) add(op, false, micro_batches, 0.0);
        for (const UpdateTemplate& update : block.updates) {
            add(update.sum, false, micro_batches - 1, 0.0);
            add(update.update, true, 1, update.update.result_size);
        }
    }
    return costs;
}

}  // namespace dse::workload
