// One step of a plan in its pieces: the passes of its chunks, its pipeline, its updates, its memory.
#pragma once

#include <memory>
#include <vector>

#include "prediction/memory/memory.hpp"
#include "prediction/pipeline/recurrence.hpp"
#include "prediction/steps/predict.hpp"
#include "prediction/steps/shared.hpp"
#include "prediction/steps/timer.hpp"
#include "prediction/steps/updates.hpp"

namespace dse::prediction {

/// A step whose checks have passed. It is laid out at once, and timed by `time`, before all that follows it.
class Step {
public:
    /// Throws Infeasible. Keeps references to its arguments.
    Step(const Model& model, const Plan& plan, const Cluster& cluster, const Setting& setting,
         Shared& shared);
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

    const Model& model() const { return model_; }
    const Plan& plan() const { return plan_; }
    const Schedule& schedule() const { return schedule_; }
    const Sizes& sizes() const { return sizes_; }
    const Groups& groups() const { return groups_; }
    const Layout& layout() const { return *layout_; }
    /// Layers of each part of the pipeline that the plan or `stages=balanced` lists; else none.
    const std::vector<std::int64_t>& listed() const { return listed_; }
    Timer& timer() { return timer_; }
    Updates& updates() { return updates_; }

    /// Times the pipeline without messages and with them, once. Throws Infeasible: too many operations.
    void time();

    std::int64_t micro_batches() const { return micro_batches_; }
    /// Of one micro-batch, by type of chunk: `layout().stages` has the types of a stage.
    const std::vector<Passes>& passes() const { return passes_; }
    const Passes& passes(std::size_t stage, std::size_t chunk) const {
        return passes_[layout_->stages[stage][chunk]];
    }
    /// Times that a pipeline takes, stages x chunks.
    const std::vector<StageTimes>& times() const { return pipeline_->chunks; }
    std::shared_ptr<const Order> order() const;
    /// Seconds of all passes of each stage.
    const std::vector<double>& busy_s() const { return pipeline_->busy_s; }
    /// The stage that is busiest; of stages that differ by rounding alone, the first.
    std::size_t busiest() const;
    const PipelineTimes& timed() const { return pipeline_->times; }
    /// Of a message between stages.
    double send_s() const { return send_s_; }

    /// Parameters that an NPU of a stage holds of each chunk, and of all.
    const std::vector<Weights>& weights(std::size_t stage) const {
        return weights_[layout_->stage_types[stage]];
    }
    const Weights& held(std::size_t stage) const { return held_[layout_->stage_types[stage]]; }

    /// The reduction of gradients that comes after the pipeline, on the stage that ends last.
    double scattered_s();
    /// The gathering of weights (ZeRO-1 and 2) that the first forward passes do not hide.
    double gathered_s();
    /// Of both: 0 with ZeRO-3.
    double exposed_s() { return plan_.zero_stage == 3 ? 0.0 : scattered_s() + gathered_s(); }
    /// Of the stage that takes longest.
    double optimizer_s() const;
    Bytes memory(std::size_t stage) const;
    /// Of the fullest stage.
    Bytes memory() const;

    Prediction prediction();

private:
    Bytes memory(const StageMemory& of_stages, std::size_t stage) const;
    /// For the times of types of chunks.
    Pipeline pipeline(const std::vector<StageTimes>& times) const;

    const Model& model_;
    const Plan& plan_;
    const Setting& setting_;
    Shared& shared_;
    const Schedule schedule_;  // a predictor's own may move while it reads others
    Sizes sizes_;
    Groups groups_;
    Timer timer_;
    Updates updates_;
    std::vector<std::int64_t> listed_;
    const Layout* layout_ = nullptr;
    std::int64_t micro_batches_ = 0;
    std::vector<Passes> passes_;                 // by type of chunk
    std::vector<std::vector<Weights>> weights_;  // by type of stage
    std::vector<Weights> held_;
    const Pipeline* pipeline_ = nullptr;
    double send_s_ = 0.0;
};

}  // namespace dse::prediction
