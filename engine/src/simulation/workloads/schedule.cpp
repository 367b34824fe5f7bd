// A class per schedule: round robin as the reference does, and 1F1B.
#include "simulation/workloads/schedule.hpp"

namespace dse::workload {

namespace {

/// Layer l is in stage (l + 1) mod stages; the output embedding follows the last.
class RoundRobin final : public Schedule {
public:
    using Schedule::Schedule;

    std::int32_t stage_of_layer(std::int32_t layer) const override { return (layer + 1) % stages_; }

    std::int32_t stage_of_output_embedding() const override { return stage_of_layer(layers_); }

    std::optional<Step> before(const Step&) const override { return std::nullopt; }
};

/// 1F1B (Narayanan et al. 2019): stage s begins a micro-batch when the one pp - s before it has gone back,
/// and receives a gradient only after its own forward pass.
class OneForwardOneBackward final : public Schedule {
public:
    using Schedule::Schedule;

    std::int32_t stage_of_layer(std::int32_t layer) const override {
        return static_cast<std::int32_t>(static_cast<std::int64_t>(layer) * stages_ / layers_);
    }

    std::int32_t stage_of_output_embedding() const override { return stage_of_layer(layers_ - 1); }

    std::optional<Step> before(const Step& step) const override {
        if (step.direction == Step::Direction::kBackward) {
            return Step{Step::Direction::kForward, step.stage, step.micro_batch};
        }
        const std::int32_t earlier = step.micro_batch - (stages_ - step.stage);
        if (earlier < 0) return std::nullopt;
        return Step{Step::Direction::kBackward, step.stage, earlier};
    }
};

}  // namespace

std::unique_ptr<const Schedule> schedule_of(bool contiguous_stages, std::int32_t layers,
                                            std::int32_t stages) {
    if (contiguous_stages) return std::make_unique<OneForwardOneBackward>(layers, stages);
    return std::make_unique<RoundRobin>(layers, stages);
}

}  // namespace dse::workload
