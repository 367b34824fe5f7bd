// The execution-trace nodes of one pipeline stage, the same on all its ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulation/workloads/model_graph.hpp"

namespace dse::workload {

/// The role of a node for its operator.
enum class Role : std::uint8_t { kCompute, kOperand1Collective, kOperand2Collective, kSend, kReceive };

/// A node in file order. Dependencies are ranges of StageGraph's vectors, as indices into StageGraph::nodes.
struct StageNode {
    Role role = Role::kCompute;
    OperandCollective collective{};
    std::uint8_t place_in_chain = 0;
    std::uint32_t position = 0;  ///< of the operator in StageGraph::members
    std::uint32_t number = 0;    ///< offset from the rank's first id; crossing pair for send and receive
    std::uint32_t data_begin = 0, data_end = 0;
    std::uint32_t control_begin = 0, control_end = 0;

    bool is_point_to_point() const { return role == Role::kSend || role == Role::kReceive; }
};

/// An entry of a stage's list: an operator of the stage, or the shadow of another stage's.
struct StageMember {
    std::int32_t op;
    bool shadow;
};

struct StageGraph {
    std::int32_t stage = 0;
    std::vector<StageMember> members;
    std::vector<StageNode> nodes;
    std::vector<std::uint32_t> data_deps;
    std::vector<std::uint32_t> control_deps;
    std::uint32_t id_count = 0;  ///< ids that a rank takes, those of dropped nodes included

    std::span<const std::uint32_t> data_deps_of(const StageNode& node) const {
        return {data_deps.data() + node.data_begin, data_deps.data() + node.data_end};
    }
    std::span<const std::uint32_t> control_deps_of(const StageNode& node) const {
        return {control_deps.data() + node.control_begin, control_deps.data() + node.control_end};
    }
};

/// A tensor that crosses from the stage that makes it to the one that has its shadow.
struct CrossingPair {
    std::int32_t op;
    std::int32_t from_stage;
    std::int32_t to_stage;
};

/// All stages of a model, indexed by position in the stage order, and the pairs that connect them.
struct StageGraphs {
    std::vector<StageGraph> stages;
    std::vector<CrossingPair> pairs;
};

StageGraphs build_stage_graphs(const ModelGraph& model, const Checkpoint& checkpoint);

}  // namespace dse::workload
