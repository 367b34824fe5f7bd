// Execution-trace files of a generated workload.
#include <string>
#include <string_view>

#include "simulation/workloads/numbers.hpp"
#include "simulation/workloads/transformer.hpp"

namespace dse::workload {

/// Fills a TraceFile with the nodes of one rank; the texts it refers to live in the TraceFile's storage.
class TraceFileBuilder {
public:
    TraceFileBuilder(const Transformer& transformer, std::uint32_t rank, const Checkpoint& checkpoint)
        : transformer_(transformer),
          rank_(rank),
          graph_(transformer.stage_of(rank)),
          checkpoint_(checkpoint) {}

    chakra::TraceFile build() {
        file_.metadata.push_back(
            {.name = "schema", .kind = chakra::ValueKind::kString, .text = "symbolic_tensor_network"});
        tensor_text_.resize(graph_.members.size());
        for (const StageNode& node : graph_.nodes) {
            checkpoint_();
            add(node);
        }
        return std::move(file_);
    }

private:
    using Kind = chakra::ValueKind;

    void add(const StageNode& node) {
        chakra::Node out;
        out.id = transformer_.node_id(rank_, node);
        out.name = file_.keep(transformer_.node_name(graph_, node));
        out.type = type_of(node.role);
        out.control_begin = size(file_.control_deps);
        for (const std::uint32_t dep : graph_.control_deps_of(node)) file_.control_deps.push_back(id_at(dep));
        out.control_end = size(file_.control_deps);
        out.data_begin = size(file_.data_deps);
        for (const std::uint32_t dep : graph_.data_deps_of(node)) file_.data_deps.push_back(id_at(dep));
        out.data_end = size(file_.data_deps);
        out.attribute_begin = size(file_.attributes);
        add_attributes(node);
        out.attribute_end = size(file_.attributes);
        file_.nodes.push_back(out);
    }

    static chakra::NodeType type_of(Role role) {
        switch (role) {
            case Role::kCompute:
                return chakra::NodeType::kCompute;
            case Role::kSend:
                return chakra::NodeType::kCommSend;
            case Role::kReceive:
                return chakra::NodeType::kCommRecv;
            default:
                return chakra::NodeType::kCommCollective;
        }
    }

    void add_attributes(const StageNode& node) {
        const Operator& op = transformer_.op(graph_.members[node.position].op);
        const auto named = [&](std::int32_t operand) { return transformer_.named_member(graph_, operand); };
        switch (node.role) {
            case Role::kCompute: {
                std::vector<std::uint32_t> inputs;
                if (op.operand1 >= 0) inputs.push_back(named(op.operand1));
                if (op.operand2 >= 0) inputs.push_back(named(op.operand2));
                if (op.shape->state >= 0) inputs.push_back(named(op.state()));
                add_tensors("inputs", inputs);
                add_tensors("outputs", results_of(node));
                add_integer("num_ops", Kind::kInt64, static_cast<std::int64_t>(op.shape->num_ops));
                const auto bytes = static_cast<std::uint64_t>(op.shape->tensor_size);
                add_integer("tensor_size", Kind::kUint64, static_cast<std::int64_t>(bytes));
                return;
            }
            case Role::kSend:
            case Role::kReceive:
                add_point_to_point(node, op);
                break;
            default: {
                const bool first = node.role == Role::kOperand1Collective;
                add_tensors("inputs", {named(first ? op.operand1 : op.operand2)});
                add_tensors("outputs", results_of(node));
                add_integer("comm_size", Kind::kInt64,
                            static_cast<std::int64_t>(Transformer::comm_bytes(op, node)));
                add_integer("comm_type", Kind::kInt64, static_cast<std::int64_t>(node.collective.type));
                const std::uint64_t group = transformer_.group_number(rank_, node.collective.axis);
                file_.attributes.push_back(
                    {.name = "pg_name", .kind = Kind::kString, .text = file_.keep(std::to_string(group))});
            }
        }
        add_integer("is_cpu_op", Kind::kInt32, 0);
    }

    std::vector<std::uint32_t> results_of(const StageNode& node) const {
        std::vector<std::uint32_t> results;
        const auto index = static_cast<std::uint32_t>(&node - graph_.nodes.data());
        transformer_.for_each_result(graph_, index, [&](std::uint32_t member) { results.push_back(member); });
        return results;
    }

    void add_point_to_point(const StageNode& node, const Operator& op) {
        const bool send = node.role == Role::kSend;
        const std::uint32_t lane = transformer_.lane_of(rank_);
        const std::uint32_t peer = transformer_.peer_position(node) * transformer_.lanes_ + lane;
        const std::int64_t tag = static_cast<std::int64_t>(node.number) * transformer_.lanes_ + lane;
        if (send) {
            add_tensors("inputs", {node.position});
            add_tensors("outputs", {});
        } else {
            add_tensors("inputs", {});
            add_tensors("outputs", {node.position});
        }
        add_integer("comm_size", Kind::kInt64, static_cast<std::int64_t>(op.shape->result_size));
        add_integer("comm_tag", Kind::kInt32, tag);
        add_integer(send ? "comm_dst" : "comm_src", Kind::kInt32, peer);
    }

    /// A list of pairs: tensor name, size. An empty one is an attribute without a value.
    void add_tensors(std::string_view name, const std::vector<std::uint32_t>& members) {
        chakra::Attribute attribute{.name = name, .kind = members.empty() ? Kind::kNone : Kind::kStringList};
        attribute.list_begin = size(file_.list_items);
        for (const std::uint32_t member : members) {
            TensorText& text = tensor_text_[member];
            if (text.name.empty()) {
                text.name = file_.keep(transformer_.tensor_name(graph_, member));
                text.size =
                    file_.keep(decimal_text(transformer_.op(graph_.members[member].op).shape->result_size));
            }
            file_.list_items.push_back(text.name);
            file_.list_items.push_back(text.size);
        }
        attribute.list_end = size(file_.list_items);
        file_.attributes.push_back(attribute);
    }

    void add_integer(std::string_view name, Kind kind, std::int64_t value) {
        file_.attributes.push_back({.name = name, .kind = kind, .integer = value});
    }

    std::uint64_t id_at(std::uint32_t node) const { return transformer_.node_id(rank_, graph_.nodes[node]); }

    template <typename T>
    static std::uint32_t size(const std::vector<T>& items) {
        return static_cast<std::uint32_t>(items.size());
    }

    struct TensorText {
        std::string_view name, size;
    };

    const Transformer& transformer_;
    std::uint32_t rank_;
    const StageGraph& graph_;
    const Checkpoint& checkpoint_;
    chakra::TraceFile file_;
    std::vector<TensorText> tensor_text_;
};

chakra::TraceFile Transformer::trace_file(std::uint32_t rank, const Checkpoint& checkpoint) const {
    return TraceFileBuilder(*this, rank, checkpoint).build();
}

}  // namespace dse::workload
