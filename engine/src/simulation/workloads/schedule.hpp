// Schedules of a pipeline: which stage has which layer, and in which order a stage takes the passes of
// micro-batches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace dse::workload {

/// A stage's part of the forward or the backward pass of a micro-batch.
struct Step {
    enum class Direction : std::uint8_t { kForward, kBackward };

    Direction direction = Direction::kForward;
    std::int32_t stage = 0;
    std::int32_t micro_batch = 0;

    bool operator==(const Step&) const = default;
};

/// A way to run micro-batches through the stages of a pipeline.
class Schedule {
public:
    Schedule(std::int32_t layers, std::int32_t stages) : layers_(layers), stages_(stages) {}
    Schedule(const Schedule&) = delete;
    Schedule& operator=(const Schedule&) = delete;
    virtual ~Schedule() = default;

    virtual std::int32_t stage_of_layer(std::int32_t layer) const = 0;

    /// The input embedding is in stage 0.
    virtual std::int32_t stage_of_output_embedding() const = 0;

    /// The step of the same stage that ends before this one begins; none if data alone says when.
    virtual std::optional<Step> before(const Step& step) const = 0;

protected:
    std::int32_t layers_, stages_;
};

/// Contiguous stages run 1F1B; without, layers go round robin to the stages, and nothing but data is waited
/// for.
std::unique_ptr<const Schedule> schedule_of(bool contiguous_stages, std::int32_t layers, std::int32_t stages);

}  // namespace dse::workload
