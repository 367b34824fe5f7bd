// Figures of the strategies of a request, as dse.studies.points.evaluate finds them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "answers/explorer/request.hpp"
#include "simulation/simulators/recording.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::explorer {

inline constexpr const char* kNoMemory =
    "needs more memory than there is; use fewer layers, micro-batches, NPUs or chunks";

enum class Status : std::uint8_t { kOk, kInfeasible, kDeadlock, kFailed };

/// The figures of a row, in their order; docs/explorer.md has the names of the columns.
enum Figure : std::uint8_t {
    kStatus,
    kWallTime,
    kGpuTime,
    kCommTime,
    kExposedComm,
    kComputeBound,
    kComputeUtilization,
    kMemoryUtilization,
    kOperationIntensity,
    kPeakMemory,
    kRank0WallTime,
    kRank0PeakMemory,
    kLastRank,
    kRankClasses,
    kMfu,
    kTokens,
    kFractional,
    kFigures
};

inline constexpr int kTexts = 3;  ///< of a row

struct Row {
    std::array<double, kFigures> figures;  ///< NaN: there is none
    std::string reason;                    ///< why it is not ok
    std::string understated_comm = {};     ///< messages that cross slower links than they are charged for
    std::string impossible_split = {};     ///< what no program can split
};

/// Workloads of one model that were made last, so that a change of the system makes none again.
class WorkloadCache {
public:
    explicit WorkloadCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}

    /// Forgets those of another model.
    void keep_only(const std::string& model_text);

    /// Null if it was not kept.
    std::shared_ptr<const workload::Workload> find(const std::string& key) const;
    void add(std::string key, std::shared_ptr<const workload::Workload> workload);

private:
    struct Entry {
        std::string key;
        std::shared_ptr<const workload::Workload> workload;
        std::size_t bytes;
    };

    std::size_t most_bytes_;
    std::size_t bytes_ = 0;
    std::string model_text_;
    std::deque<Entry> entries_;  ///< the oldest first
};

/// Evaluates the strategies of one request.
class Explorer {
public:
    /// `cache`, if any, must outlive this. Throws InputError, see request_of_json.
    explicit Explorer(std::string_view request, WorkloadCache* cache = nullptr);

    std::size_t size() const { return request_.strategies.size(); }

    /// Infeasible, deadlocked and failed points are rows with a reason. Throws InputError for what concerns
    /// every point, such as a collective without an algorithm for its dimension.
    Row row(std::size_t index, const Checkpoint& checkpoint = {}) const;

    /// The same, and as JSON what happened when on the decisive ranks, see recording_json; {} if nothing did.
    Row record(std::size_t index, std::string& json, const Checkpoint& checkpoint = {}) const;

private:
    template <typename Simulate>
    Row evaluated(std::size_t index, const Checkpoint& checkpoint, Simulate simulate) const;
    std::shared_ptr<const workload::Workload> workload_of(const workload::StrategySpec& strategy,
                                                          const Checkpoint& checkpoint) const;

    /// Tokens per second and utilisation from the wall time of a row that is ok.
    void set_throughput(Row& row) const;

    Request request_;
    WorkloadCache* cache_;
    mutable std::optional<double> hundred_operations_;  ///< of the model, once a point is ok
};

/// `{"ranks": [{"rank", "nodes": {columns}, "tensors": {columns}}], "groups": [...]}`; `axis` of a group is
/// that of the strategy, null if there is none.
std::string recording_json(const simulator::Recording& recording, const workload::StrategySpec& strategy);

}  // namespace dse::explorer
