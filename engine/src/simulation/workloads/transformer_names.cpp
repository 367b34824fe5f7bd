// Ids and names of the nodes and tensors of a generated workload.
#include <string>

#include "simulation/workloads/transformer.hpp"

namespace dse::workload {

std::uint64_t Transformer::node_id(std::uint32_t rank, const StageNode& node) const {
    if (node.is_point_to_point()) {
        const std::uint64_t message = static_cast<std::uint64_t>(node.number) * lanes_ + lane_of(rank);
        return first_crossing_id_ + 2 * message + (node.role == Role::kReceive ? 1 : 0);
    }
    const std::uint32_t position = position_of(rank);
    const std::uint64_t ids = graphs_.stages[position].id_count;
    return first_id_of_position_[position] + ids * lane_of(rank) + node.number;
}

std::uint32_t Transformer::peer_position(const StageNode& node) const {
    const CrossingPair& pair = graphs_.pairs[node.number];
    return position_of_stage(node.role == Role::kSend ? pair.to_stage : pair.from_stage);
}

std::uint64_t Transformer::id(std::uint32_t rank, std::uint32_t node) const {
    return node_id(rank, stage_of(rank).nodes[id_order_[position_of(rank)][node]]);
}

std::string Transformer::name(std::uint32_t rank, std::uint32_t node) const {
    const StageGraph& graph = stage_of(rank);
    return node_name(graph, graph.nodes[id_order_[position_of(rank)][node]]);
}

std::string Transformer::tensor_name(std::uint32_t rank, std::uint32_t tensor) const {
    return tensor_name(stage_of(rank), tensor);
}

std::string Transformer::member_id(const StageMember& member) const {
    return (member.shadow ? "shadow_" : "") + model_.id_of(op(member.op));
}

std::string Transformer::node_name(const StageGraph& graph, const StageNode& node) const {
    const std::string id = member_id(graph.members[node.position]);
    switch (node.role) {
        case Role::kCompute:
            return id + "_COMP";
        case Role::kOperand1Collective:
            return id + "_X1COMM";
        case Role::kOperand2Collective:
            return id + "_X2_COMM";
        case Role::kSend:
            return id + "_Y_SEND";
        case Role::kReceive:
            break;
    }
    return id + "_Y_RECV";
}

std::string Transformer::tensor_name(const StageGraph& graph, std::uint32_t position) const {
    const StageMember& member = graph.members[position];
    return member_id(member) + text_of(op(member.op).shape->result);
}

}  // namespace dse::workload
