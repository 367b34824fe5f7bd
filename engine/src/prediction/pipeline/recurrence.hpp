// The time of a pipeline: an operation starts when its stage is free and its message is there.
//
// Schedules are timetables: those of builtin_schedules.hpp, or of other packages; a batch asks for each once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/threads.hpp"

namespace dse::prediction {

/// The kind of pass that sends a message, and between which stages and chunks; `link` numbers the links
/// between stages.
struct Message {
    std::int64_t kind = 0, stage = 0, chunk = 0, to_stage = 0, to_chunk = 0, link = 0;
};

/// Ticks of operations: for each kind (forward, backward, weight) stages x chunks x micro-batches.
struct Timetable {
    std::vector<std::vector<std::int64_t>> ticks;
    std::vector<Message> messages;
};

/// All operations of a pipeline, each after what it needs; places count from 1, and 0 is none.
class Order {
public:
    Order(const Timetable& timetable, std::size_t stages, std::size_t chunks, std::size_t micro_batches);

    struct Step {
        std::uint32_t stage, need, kind;  ///< kind numbers combinations of kind, stage and chunk
    };
    std::size_t stages, chunks, kinds;
    std::vector<Step> steps;
    std::vector<std::uint32_t> micro_batches;  ///< of each step
    std::vector<std::uint32_t> lasts;          ///< the last operation of each stage
    std::vector<std::uint32_t> gradients;      ///< of each stage and chunk: what completes its gradients
    std::vector<Message> messages;
    std::vector<std::int64_t> in_flight;  ///< the most activations that each stage holds, of a chunk each
};

struct StageTimes {
    double forward_s = 0.0, backward_s = 0.0, weight_s = 0.0;
};

/// Times by stage, and by stage x chunk; `silent_s` is the makespan without messages.
struct PipelineTimes {
    double makespan_s = 0.0, silent_s = 0.0;
    std::vector<double> finish_s, gradients_s;
};

/// Times the pipeline; `times` are stages x chunks, and `sends_s` messages of each link: number s lies after
/// stage s, the last after the last.
PipelineTimes pipeline_times(const Order& order, const std::vector<StageTimes>& times, bool splits_backward,
                             const std::vector<double>& sends_s);

/// When an operation runs.
struct OperationSpan {
    double start_s = 0.0, end_s = 0.0;
};
/// The spans of `order.steps`.
std::vector<OperationSpan> pipeline_spans(const Order& order, const std::vector<StageTimes>& times,
                                          bool splits_backward, const std::vector<double>& sends_s);

/// A schedule by name, and what a timetable does not say.
struct Schedule {
    std::string name;
    bool splits_backward = false, is_v_shaped = false;
};

/// Where schedules come from.
struct ScheduleSource {
    /// Why a schedule cannot run so many stages, chunks and micro-batches; empty if it can.
    std::function<std::string(const Schedule&, std::int64_t, std::int64_t, std::int64_t)> problem;
    std::function<Timetable(const Schedule&, std::int64_t, std::int64_t, std::int64_t)> timetable;
};

/// Remembers what the source said. Threads may ask at the same time.
class Orders {
public:
    explicit Orders(ScheduleSource source) : source_(std::move(source)) {}

    std::string problem(const Schedule& schedule, std::int64_t stages, std::int64_t chunks,
                        std::int64_t micro_batches);
    std::shared_ptr<const Order> order(const Schedule& schedule, std::int64_t stages, std::int64_t chunks,
                                       std::int64_t micro_batches);

private:
    struct Key {
        std::string name;
        std::int64_t stages, chunks, micro_batches;
        auto operator<=>(const Key&) const = default;
    };
    ScheduleSource source_;
    Mutex mutex_;
    std::map<Key, std::string> problems_;
    std::map<Key, std::shared_ptr<const Order>> orders_;
    std::size_t kept_steps_ = 0;
};

}  // namespace dse::prediction
