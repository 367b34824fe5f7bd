// One training step of a transformer: the generated workload and the writer of its execution traces.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulation/traces/trace_file.hpp"
#include "simulation/workloads/stage_graph.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::workload {

/// The strategy. Throws InputError if a degree, width or count cannot be generated.
StrategySpec checked(const ModelSpec& model, const StrategySpec& strategy);

/// The member of a stage for each operator of the model. A stage has runs of operators and lacks most of the
/// others, so that a table for all of them would grow with the square of the stages: only used pages exist.
class MemberTable {
public:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    explicit MemberTable(std::size_t operators) : pages_((operators + kPage - 1) / kPage, kNone) {}

    void set(std::size_t op, std::uint32_t member) {
        std::uint32_t& page = pages_[op / kPage];
        if (page == kNone) {
            page = static_cast<std::uint32_t>(members_.size() / kPage);
            members_.resize(members_.size() + kPage, kNone);
        }
        members_[page * kPage + op % kPage] = member;
    }

    std::uint32_t operator[](std::size_t op) const {
        const std::uint32_t page = pages_[op / kPage];
        return page == kNone ? kNone : members_[page * kPage + op % kPage];
    }

    std::size_t memory_bytes() const { return heap_bytes(pages_) + heap_bytes(members_); }

private:
    static constexpr std::size_t kPage = 32;

    std::vector<std::uint32_t> pages_;
    std::vector<std::uint32_t> members_;
};

/// Everything about a generated workload: graphs of the stages, ids, ranks, groups.
class Transformer : public NodeCatalog {
public:
    /// Throws InputError if a degree, width or count cannot be generated.
    Transformer(const ModelSpec& model, const StrategySpec& strategy, const Checkpoint& checkpoint = {});

    std::uint32_t rank_count() const { return lanes_ * static_cast<std::uint32_t>(graphs_.stages.size()); }
    const StrategySpec& strategy() const { return strategy_; }

    /// Flat traces, one per pipeline stage, and the communicators in use. The catalog is left to the caller.
    Workload flatten(const Checkpoint& checkpoint = {}) const;

    /// The nodes of a rank in file order, with names and attributes.
    chakra::TraceFile trace_file(std::uint32_t rank, const Checkpoint& checkpoint = {}) const;

    /// The groups file: one JSON object in number order, `", "` and `": "` as separators.
    std::string groups_json(const Checkpoint& checkpoint = {}) const;

    std::uint64_t id(std::uint32_t rank, std::uint32_t node) const override;
    std::string name(std::uint32_t rank, std::uint32_t node) const override;
    std::string tensor_name(std::uint32_t rank, std::uint32_t tensor) const override;
    std::size_t memory_bytes() const override;

private:
    friend class TraceFileBuilder;

    std::uint32_t position_of(std::uint32_t rank) const { return rank / lanes_; }
    std::uint32_t lane_of(std::uint32_t rank) const { return rank % lanes_; }
    const StageGraph& stage_of(std::uint32_t rank) const { return graphs_.stages[position_of(rank)]; }
    std::uint32_t position_of_stage(std::int32_t stage) const;
    std::uint64_t node_id(std::uint32_t rank, const StageNode& node) const;
    std::uint64_t group_number(std::uint32_t rank, Axis axis) const;
    std::string member_id(const StageMember& member) const;
    std::string node_name(const StageGraph& graph, const StageNode& node) const;
    std::string tensor_name(const StageGraph& graph, std::uint32_t position) const;
    std::uint32_t named_member(const StageGraph& graph, std::int32_t op) const;

    /// Calls `use` with each member whose tensor the node writes: its operator's and that one's side results.
    template <typename Use>
    void for_each_result(const StageGraph& graph, std::uint32_t node, Use use) const {
        const StageNode& source = graph.nodes[node];
        if (source.role == Role::kCompute || source.role == Role::kReceive || fills_buffer(graph, node)) {
            use(source.position);
        }
        if (source.role != Role::kCompute || !model_.has_side_results()) return;
        for (std::uint32_t i = source.position + 1; i < graph.members.size(); ++i) {
            if (graph.members[i].shadow || op(graph.members[i].op).kind != OperatorKind::kSideResult) break;
            use(i);
        }
    }

    /// Size of the collective that a node is.
    static double comm_bytes(const Operator& op, const StageNode& node) {
        const bool first = node.role == Role::kOperand1Collective;
        return (first ? *op.chain1 : op.shape->chain2)[node.place_in_chain].bytes;
    }

    /// Whether the node is the last collective of a buffer.
    bool fills_buffer(const StageGraph& graph, std::uint32_t node) const {
        const StageNode& source = graph.nodes[node];
        if (source.role != Role::kOperand1Collective) return false;
        if (op(graph.members[source.position].op).kind != OperatorKind::kBuffer) return false;
        return node + 1 == graph.nodes.size() || graph.nodes[node + 1].position != source.position;
    }
    std::uint32_t peer_position(const StageNode& node) const;
    const Operator& op(std::int32_t index) const {
        return model_.operators()[static_cast<std::size_t>(index)];
    }

    Trace flatten_stage(std::uint32_t position, const Checkpoint& checkpoint) const;
    void add_communicators(Workload& workload, const Checkpoint& checkpoint) const;

    StrategySpec strategy_;
    std::uint32_t lanes_;
    ModelGraph model_;
    StageGraphs graphs_;
    std::vector<std::vector<std::uint32_t>> id_order_;  ///< per stage: file positions in ascending id
    std::vector<std::uint64_t> first_id_of_position_;   ///< of lane 0
    std::uint64_t first_crossing_id_ = 0;
    std::vector<MemberTable> member_of_op_;  ///< per stage
};

/// Generates a workload whose catalog is its Transformer.
Workload generate(std::shared_ptr<const Transformer> transformer, const Checkpoint& checkpoint = {});

}  // namespace dse::workload
