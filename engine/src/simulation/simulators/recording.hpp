// Events over time on chosen ranks of a simulation, as flat rows: for explanations and timelines.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulation/simulators/result.hpp"

namespace dse::simulator {

/// The end of a node that was issued and never ended, and the death of a tensor that is never read.
inline constexpr std::int64_t kNever = -1;

/// An issued node of a recorded rank.
struct RecordedNode {
    std::uint32_t node = 0;  ///< index in the rank's trace, in ascending id
    std::uint64_t id = 0;
    std::string name;
    std::string kind;  ///< compute, send, receive, memory load, memory store, invalid, or a collective's type
    std::string bound;  ///< of compute on a roofline: compute or memory; otherwise empty
    bool on_cpu = false;
    std::int64_t start_ns = 0;     ///< issued
    std::int64_t end_ns = kNever;  ///< completed
    std::uint64_t bytes = 0;
    double num_ops = 0.0;
    std::int32_t group = -1;             ///< of a collective: index into Recording::groups
    std::int32_t peer = -1;              ///< of a send or receive: the other rank
    std::int32_t peer_node = -1;         ///< of a receive: the matching send in the peer's trace
    std::int64_t message_ns = kNever;    ///< of a receive: when its message left the peer
    std::vector<std::uint32_t> parents;  ///< nodes that it waited for, ascending
};

/// A tensor as the memory tracker counts it: alive in [birth, death).
struct RecordedTensor {
    std::string name;
    std::uint64_t bytes = 0;
    std::int64_t birth_ns = 0;
    std::int64_t death_ns = kNever;
    bool external = false;  ///< no node of the rank writes it
};

struct RankRecording {
    std::uint32_t rank = 0;
    std::vector<RecordedNode> nodes;      ///< in order of the trace
    std::vector<RecordedTensor> tensors;  ///< empty if memory is not tracked
};

/// A communicator: its members, none for all ranks or for dimensions of the network.
struct RecordedGroup {
    std::string name;
    std::vector<std::uint32_t> members;
    bool by_dimension = false;
    std::uint64_t dimension_mask = 0;
};

/// The ranks to record: those named, else the lowest rank of every class of the result, or of two classes
/// only.
struct RecordingRequest {
    std::vector<std::uint32_t> ranks;
    bool decisive_only = false;  ///< the class that finishes last and the one with the largest peak
};

struct Recording {
    SimulationResult result;
    std::vector<RankRecording> ranks;
    std::vector<RecordedGroup> groups;
};

}  // namespace dse::simulator
