#include "prediction/steps/updates.hpp"

namespace dse::prediction {

double Updates::reduce_s(const Weights& held) const {
    const auto gradient = static_cast<double>(sizes_.framework.gradient_bytes);
    const Weights weights = held.trained();
    const Links& dense = timer_.links(GroupAxis::kDpCp);
    const double dense_s = sizes_.plan.zero_stage == 0 ? dense.all_reduce_s(gradient * weights.dense)
                                                       : dense.gather_s(gradient * weights.dense);
    const Links& experts = timer_.links(GroupAxis::kExpertDp);
    return dense_s + (sizes_.plan.zero_stage == 0 ? experts.all_reduce_s(gradient * weights.experts)
                                                  : experts.gather_s(gradient * weights.experts));
}

double Updates::gather_s(const Weights& held) const {
    const Weights updated = held.trained();
    const double dense = timer_.links(GroupAxis::kDpCp).gather_s(2 * updated.dense);
    return dense + timer_.links(GroupAxis::kExpertDp).gather_s(2 * updated.experts);
}

double Updates::optimizer_s(const Weights& held) const {
    const Plan& plan = sizes_.plan;
    const Weights weights = held.trained();
    double own = weights.total();
    if (plan.zero_stage != 0) {
        own = weights.dense / static_cast<double>(groups_.dp_cp.size) +
              weights.experts / static_cast<double>(groups_.expert_dp.size);
    }
    const double kept = plan.zero_stage >= 2 ? own : weights.total();
    const double memory = timer_.rates().memory,
                 rate = plan.offloads_optimizer ? timer_.host_bytes_per_s() : memory;
    const auto gradient = static_cast<double>(sizes_.framework.gradient_bytes);
    return (26.0 + gradient) * own / rate + 2.0 * gradient * kept / memory;
}

}  // namespace dse::prediction
