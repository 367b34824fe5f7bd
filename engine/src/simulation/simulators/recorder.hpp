// Reads a recording out of an executor whose event queue has run dry.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "simulation/simulators/graph_executor.hpp"
#include "simulation/simulators/recording.hpp"

namespace dse::simulator {

/// Given to a simulation that is to be recorded; the executor keeps the ends of nodes, and nothing else is
/// done while events run.
class Recorder {
public:
    /// Throws InputError for a rank that does not exist.
    Recorder(const workload::Workload& workload, const SystemConfig& config, RecordingRequest request);

    /// `result` gives each rank its index in the executor; its classes may be finer than the final ones.
    void take(const GraphExecutor& executor, const SimulationResult& result, const Checkpoint& checkpoint);

    /// Returns the recording; the result itself is left to the caller.
    Recording release() { return std::move(recording_); }

private:
    /// A rank of the workload and its index in the executor.
    struct Place {
        std::uint32_t rank;
        std::uint32_t index;
    };
    using MessageName = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;  ///< tag, bytes, destination
    using Sends = std::map<MessageName, std::vector<std::uint32_t>>;

    std::vector<std::uint32_t> chosen_ranks(const SimulationResult& result) const;
    RankRecording rank_recording(const GraphExecutor& executor, Place place, const Checkpoint& checkpoint);
    RecordedNode node_recording(const GraphExecutor& executor, Place place, std::uint32_t n);
    void match_receives(const GraphExecutor& executor, const SimulationResult& result, Place place,
                        RankRecording& ranked, const Checkpoint& checkpoint) const;
    Sends messages_of(const GraphExecutor& executor, Place place, workload::NodeKind kind,
                      const Checkpoint& checkpoint) const;
    void add_tensors(const GraphExecutor& executor, Place place, RankRecording& ranked,
                     const Checkpoint& checkpoint) const;
    std::int32_t group_index(std::uint32_t communicator);

    const workload::Workload& workload_;
    const SystemConfig& config_;
    RecordingRequest request_;
    Recording recording_;
    std::map<std::uint32_t, std::int32_t> group_of_communicator_;
};

}  // namespace dse::simulator
