// Many plans at once: columns in, columns out.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/threads.hpp"
#include "prediction/steps/predict.hpp"

namespace dse::prediction {

/// The columns of plans, by the names of their axes; those from kFirstText on number texts of the batch.
inline constexpr std::array<std::string_view, 27> kPlanColumns = {"dp",
                                                                  "tp",
                                                                  "pp",
                                                                  "cp",
                                                                  "ep",
                                                                  "expert_tp",
                                                                  "micro_batch",
                                                                  "chunks",
                                                                  "zero",
                                                                  "shard_ranks",
                                                                  "recompute_layers",
                                                                  "weight_sharded",
                                                                  "sequence_parallel",
                                                                  "overlap_tp",
                                                                  "overlap_dp",
                                                                  "overlap_ep",
                                                                  "schedule",
                                                                  "stages",
                                                                  "context",
                                                                  "recompute",
                                                                  "precision",
                                                                  "attention",
                                                                  "offload",
                                                                  "order",
                                                                  "framework",
                                                                  "dispatcher",
                                                                  "graphs"};
inline constexpr std::size_t kFirstText = 16;

/// Answers from outside, each asked for once; schedules only where the engine has none of their name.
struct BatchSource {
    ScheduleSource schedules;
    std::function<Schedule(const std::string&)> schedule;
    std::function<std::string(const std::string&)> framework;
    std::function<std::vector<ScheduleTimes>(const std::vector<Leg>&)> synthesizer;
};

/// A case is a row of `plans`, a model and a cluster; `own` are launch_us, elementwise and optimizer_bytes.
struct Cases {
    std::span<const Model* const> models;
    std::span<const Cluster* const> clusters;
    std::span<const std::int32_t> model_of, cluster_of;
    std::span<const std::int64_t> plans;
    std::span<const double> own;
    std::vector<std::string> texts;
};

/// Columns of predictions: `kStepParts` and `kCategories` figures a case, and the number of its reason.
struct Predictions {
    std::vector<double> parts_s, memory_bytes, bubble_share;
    std::vector<std::int32_t> reason_of;  ///< -1: the plan can run
    std::vector<std::string> reasons;
};

/// Predicts batches; remembers schedules and frameworks from one to the next.
class Predictor {
public:
    Predictor(std::vector<Precision> precisions, BatchSource source);

    /// `only_feasible` leaves figures 0. `kept` has results of earlier calls for the same models and
    /// clusters; with it this thread works alone.
    Predictions predict(const Cases& cases, std::size_t threads, bool only_feasible, Shared* kept = nullptr);

    /// The texts of a batch, looked up; plans of `plan_of` point into them and into the batch.
    struct Texts;
    std::shared_ptr<const Texts> read(const Cases& cases);
    Plan plan_of(const Cases& cases, std::size_t row, const Texts& texts) const;
    const Setting& setting() const { return setting_; }
    /// A schedule by its name, which is read once.
    const Schedule& schedule(const std::string& name) { return setting_.schedules[number_of_schedule(name)]; }
    Orders& orders() { return orders_; }

private:
    std::uint32_t number_of_schedule(const std::string& name);
    const std::vector<ScheduleTimes>& synthesized(const std::vector<Leg>& legs);

    BatchSource source_;
    Orders orders_;
    Synthesizer synthesizer_;
    Setting setting_;
    std::unordered_map<std::string, std::uint32_t> schedules_, frameworks_;
    Mutex mutex_;
    std::map<std::vector<Leg>, std::vector<ScheduleTimes>> synthesized_;
};

}  // namespace dse::prediction
