// Sums and quotients in the order in which the package takes them, so that figures are the same to the bit.
#include "answers/explorer/throughput.hpp"

#include <limits>

#include "simulation/workloads/costs.hpp"

namespace dse::explorer {

namespace {

__extension__ typedef __int128 Wide;  // operations of a step pass 2^63

constexpr double kFlopsPerNs = 1e3;  // of a TFLOPS

bool is_per_layer(workload::BlockKind block) {
    return block == workload::BlockKind::kAttention || block == workload::BlockKind::kFeedForward;
}

}  // namespace

double hundred_model_operations(const Model& model) {
    const workload::StrategySpec alone;
    Wide sum = 0;
    for (const workload::OperatorCost& cost : workload::operator_costs(model.under(alone), alone)) {
        const std::int64_t blocks = is_per_layer(cost.block) ? model.spec.num_layers : 1;
        sum += Wide{blocks} * cost.times * static_cast<Wide>(cost.operations);
    }
    return static_cast<double>(100 * sum);
}

Throughput throughput(const Model& model, double hundred_operations, const System& system,
                      std::uint64_t wall_time_ns, bool is_fractional) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    if (is_fractional || wall_time_ns == 0) return {kNone, kNone};
    const auto time_ns = static_cast<double>(wall_time_ns);
    const Wide tokens = Wide{model.spec.batch_size} * model.spec.seq_len;
    Throughput found{kNone, static_cast<double>(tokens) * 1e9 / time_ns};
    const double possible =
        system.config.peak_tflops * kFlopsPerNs * time_ns * static_cast<double>(system.npus);
    // Compute times that do not follow the peak say nothing of its use.
    const bool follows_peak = system.config.roofline && !system.config.replay_only;
    if (follows_peak && possible > 0.0) found.mfu_pct = hundred_operations / possible;
    return found;
}

}  // namespace dse::explorer
