// Ranks, ids, groups and flat traces of a generated workload.
#include "simulation/workloads/transformer.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "simulation/workloads/numbers.hpp"

namespace dse::workload {

namespace {

// The limits of a workload: more would take the memory of the machine (dse/inputs/models/spec.py says the
// first two).
constexpr std::int64_t kMostLayers = 10'000;
constexpr std::int64_t kMostInstances = 200'000;  // layers times micro-batches, some 35 kB each
constexpr std::int64_t kMostInstancesTimesStages = 20'000'000;

void require_positive(std::int64_t value, const char* key) {
    if (value <= 0)
        throw InputError(std::string(key) + " is " + std::to_string(value) + "; it must be at least 1");
}

void check_fidelity(const ModelSpec& model, const StrategySpec& strategy) {
    const Fidelity& fidelity = model.fidelity;
    require_positive(fidelity.bytes_per_element, "model.repairs.bytes_per_element");
    require_positive(fidelity.micro_batches, "model.micro_batches");
    require_positive(model.shown_kv_heads(), "model.num_kv_heads");
    if (model.batch_size % fidelity.micro_batches != 0) {
        throw InputError("model.micro_batches is " + std::to_string(fidelity.micro_batches) +
                         "; it must divide model.batch_size, " + std::to_string(model.batch_size));
    }
    if (fidelity.micro_batches > 1 && !fidelity.contiguous_stages) {
        throw InputError("model.micro_batches is " + std::to_string(fidelity.micro_batches) +
                         "; more than 1 needs model.repairs.contiguous_stages=true");
    }
    if (fidelity.contiguous_stages && strategy.pp > model.num_layers) {
        throw InputError("strategy.pp is " + std::to_string(strategy.pp) +
                         "; contiguous stages have at least one layer each, so pp must be at most " +
                         std::to_string(model.num_layers));
    }
}

/// Each layer of each micro-batch is instantiated, and each stage has a table of all of them.
void require_fits(const ModelSpec& model, const StrategySpec& strategy) {
    const std::int64_t micro_batches = model.fidelity.micro_batches;
    if (micro_batches > kMostInstances / model.num_layers) {
        throw InputError("model.micro_batches is " + std::to_string(micro_batches) + "; with " +
                         std::to_string(model.num_layers) + " layers at most " +
                         std::to_string(kMostInstances / model.num_layers) + " are allowed");
    }
    if (strategy.pp > kMostInstancesTimesStages / (micro_batches * model.num_layers)) {
        throw InputError("strategy.pp is " + std::to_string(strategy.pp) + "; with " +
                         std::to_string(model.num_layers) + " layers and " + std::to_string(micro_batches) +
                         " micro-batches at most " +
                         std::to_string(kMostInstancesTimesStages / (micro_batches * model.num_layers)) +
                         " stages are allowed");
    }
}

}  // namespace

StrategySpec checked(const ModelSpec& model, const StrategySpec& strategy) {
    const std::pair<std::int64_t, const char*> fields[] = {
        {model.input_dim, "model.input_dim"},  {model.output_dim, "model.output_dim"},
        {model.d_model, "model.d_model"},      {model.d_ff, "model.d_ff"},
        {model.num_heads, "model.num_heads"},  {model.seq_len, "model.seq_len"},
        {model.batch_size, "model.batch_size"}};
    for (const auto& [value, key] : fields) require_positive(value, key);
    for (const auto& [name, member] : StrategySpec::kDegrees) {
        require_positive(strategy.*member, ("strategy." + std::string(name)).c_str());
    }
    if (model.num_layers < 1 || model.num_layers > kMostLayers) {
        throw InputError("model.num_layers is " + std::to_string(model.num_layers) + "; it must be 1 to " +
                         std::to_string(kMostLayers));
    }
    check_fidelity(model, strategy);
    require_fits(model, strategy);
    if (strategy.pp > model.num_layers + 2) {
        throw InputError("strategy.pp is " + std::to_string(strategy.pp) +
                         ": a stage would own no operator; " + std::to_string(model.num_layers) +
                         " layers and two embeddings allow at most " + std::to_string(model.num_layers + 2));
    }
    constexpr std::int64_t kMostRanks = 1 << 24;
    std::int64_t ranks = 1;
    for (const auto& [name, member] : StrategySpec::kDegrees) {
        const std::int64_t degree = strategy.*member;
        if (degree > kMostRanks / ranks) throw InputError("the strategy needs more than 16777216 ranks");
        ranks *= degree;
    }
    return strategy;
}

namespace {

NodeKind kind_of(Role role) {
    switch (role) {
        case Role::kCompute:
            return NodeKind::kCompute;
        case Role::kSend:
            return NodeKind::kSend;
        case Role::kReceive:
            return NodeKind::kReceive;
        default:
            return NodeKind::kCollective;
    }
}

void count(TraceCounts& counts, const Node& node) {
    ++counts.nodes;
    switch (node.kind) {
        case NodeKind::kCompute:
            ++counts.compute;
            counts.num_ops += static_cast<std::uint64_t>(node.num_ops);
            counts.tensor_bytes += node.bytes;
            return;
        case NodeKind::kSend:
            ++counts.send;
            break;
        case NodeKind::kReceive:
            ++counts.receive;
            break;
        default:
            ++counts.collective;
    }
    counts.comm_bytes += node.bytes;
}

/// Fills the children lists from the lists of what each node waits for.
void link_children(Trace& trace, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& parent_child,
                   const Checkpoint& checkpoint) {
    std::vector<std::uint32_t> next(trace.nodes.size() + 1, 0);
    for (const auto& [parent, child] : parent_child) ++next[parent + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
        trace.nodes[i].child_begin = next[i];
        trace.nodes[i].child_end = next[i + 1];
    }
    trace.children.resize(parent_child.size());
    for (std::size_t i = 0; i < parent_child.size(); ++i) {
        checkpoint.every(i);
        const auto [parent, child] = parent_child[i];
        trace.children[next[parent]++] = child;
        ++trace.nodes[child].wait_count;
    }
}

}  // namespace

Transformer::Transformer(const ModelSpec& model, const StrategySpec& strategy, const Checkpoint& checkpoint)
    : strategy_(checked(model, strategy)),
      lanes_(static_cast<std::uint32_t>(strategy.lanes())),
      model_(model, strategy, checkpoint),
      graphs_(build_stage_graphs(model_, checkpoint)) {
    std::uint64_t next_id = 1;
    for (const StageGraph& graph : graphs_.stages) {
        checkpoint();
        first_id_of_position_.push_back(next_id);
        next_id += static_cast<std::uint64_t>(graph.id_count) * lanes_;

        // Point-to-point nodes take their ids after all ranks, by pair number.
        std::vector<std::uint32_t>& order = id_order_.emplace_back(graph.nodes.size());
        std::iota(order.begin(), order.end(), 0U);
        const auto crossing = std::stable_partition(
            order.begin(), order.end(), [&](std::uint32_t i) { return !graph.nodes[i].is_point_to_point(); });
        std::sort(crossing, order.end(), [&](std::uint32_t a, std::uint32_t b) {
            return graph.nodes[a].number < graph.nodes[b].number;
        });

        MemberTable& table = member_of_op_.emplace_back(model_.operators().size());
        for (std::uint32_t i = 0; i < graph.members.size(); ++i) {
            checkpoint.every(i);
            table.set(static_cast<std::size_t>(graph.members[i].op), i);
        }
    }
    first_crossing_id_ = next_id;
}

std::uint32_t Transformer::position_of_stage(std::int32_t stage) const {
    const auto& order = model_.stage_order();
    return static_cast<std::uint32_t>(std::find(order.begin(), order.end(), stage) - order.begin());
}

/// The member whose tensor an operand names: the operator itself, or what it aliases.
std::uint32_t Transformer::named_member(const StageGraph& graph, std::int32_t index) const {
    const MemberTable& positions = member_of_op_[static_cast<std::size_t>(&graph - graphs_.stages.data())];
    while (true) {
        const std::uint32_t position = positions[static_cast<std::size_t>(index)];
        const Operator& operand = op(index);
        if (operand.kind != OperatorKind::kAlias || graph.members[position].shadow) return position;
        index = operand.operand1;
    }
}

Trace Transformer::flatten_stage(std::uint32_t position, const Checkpoint& checkpoint) const {
    const StageGraph& graph = graphs_.stages[position];
    const std::vector<std::uint32_t>& order = id_order_[position];
    std::vector<std::uint32_t> index_of(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) index_of[order[i]] = i;

    std::vector<std::uint64_t> tensor_bytes(graph.members.size());
    double last_size = -1.0;
    std::uint64_t last_bytes = 0;
    for (std::size_t i = 0; i < graph.members.size(); ++i) {
        checkpoint.every(i);
        const double size = op(graph.members[i].op).shape->result_size;
        if (size != last_size) last_bytes = leading_integer(size);
        last_size = size;
        tensor_bytes[i] = last_bytes;
    }

    Trace trace;
    trace.tensor_count = static_cast<std::uint32_t>(graph.members.size());
    trace.nodes.resize(order.size());
    trace.mentions.reserve(order.size() * 3);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> parent_child;
    parent_child.reserve(graph.data_deps.size() + graph.control_deps.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        checkpoint.every(i);
        const StageNode& source = graph.nodes[order[i]];
        const Operator& o = op(graph.members[source.position].op);
        Node& node = trace.nodes[i];
        node.kind = kind_of(source.role);
        const auto mention = [&](std::uint32_t member) {
            trace.mentions.push_back({member, tensor_bytes[member]});
        };
        node.read_begin = static_cast<std::uint32_t>(trace.mentions.size());
        if (source.role == Role::kCompute) {
            node.num_ops = static_cast<double>(static_cast<std::int64_t>(o.shape->num_ops));
            node.bytes = static_cast<std::uint64_t>(o.shape->tensor_size);
            if (o.operand1 >= 0) mention(named_member(graph, o.operand1));
            if (o.operand2 >= 0) mention(named_member(graph, o.operand2));
            if (o.shape->state >= 0) mention(named_member(graph, o.state()));
        } else if (source.is_point_to_point()) {
            node.bytes = static_cast<std::uint64_t>(o.shape->result_size);
            node.tag = source.number * lanes_;
            node.peer = peer_position(source) * lanes_;
            if (source.role == Role::kSend) mention(source.position);
        } else {
            const bool first = source.role == Role::kOperand1Collective;
            node.bytes = static_cast<std::uint64_t>(comm_bytes(o, source));
            node.collective = source.collective.type;
            node.slot = static_cast<std::uint32_t>(source.collective.axis);
            mention(named_member(graph, first ? o.operand1 : o.operand2));
        }
        node.write_begin = static_cast<std::uint32_t>(trace.mentions.size());
        for_each_result(graph, order[i], mention);
        node.write_end = static_cast<std::uint32_t>(trace.mentions.size());

        for (const std::uint32_t parent : graph.data_deps_of(source))
            parent_child.emplace_back(index_of[parent], i);
        for (const std::uint32_t parent : graph.control_deps_of(source)) {
            const auto data = graph.data_deps_of(source);
            if (std::find(data.begin(), data.end(), parent) == data.end()) {
                parent_child.emplace_back(index_of[parent], i);
            }
        }
        count(trace.counts, node);
    }
    trace.counts.data_deps = graph.data_deps.size();
    trace.counts.control_deps = graph.control_deps.size();
    link_children(trace, parent_child, checkpoint);
    return trace;
}

void Transformer::add_communicators(Workload& workload, const Checkpoint& checkpoint) const {
    const std::uint32_t ranks = rank_count();
    workload.slot_begin.resize(ranks + 1);
    workload.communicator_of_slot.assign(static_cast<std::size_t>(ranks) * kAxes.size(), kNoSlot);
    for (std::uint32_t rank = 0; rank <= ranks; ++rank) {
        workload.slot_begin[rank] = rank * static_cast<std::uint32_t>(kAxes.size());
    }
    std::uint32_t stride = 1;
    for (const Axis axis : kAxes) {
        const auto degree = static_cast<std::uint32_t>(strategy_.degree(axis));
        workload.communicator_group_count += ranks / degree;
        const auto slot = static_cast<std::size_t>(axis);
        for (std::uint32_t first = 0; degree > 1 && first < ranks; ++first) {
            checkpoint();
            if ((first / stride) % degree != 0) continue;
            Communicator communicator;
            communicator.name = std::to_string(group_number(first, axis));
            communicator.members.reserve(degree);
            for (std::uint32_t i = 0; i < degree; ++i) {
                const std::uint32_t rank = first + i * stride;
                communicator.members.push_back(rank);
                workload.communicator_of_slot[rank * kAxes.size() + slot] =
                    static_cast<std::uint32_t>(workload.communicators.size());
            }
            workload.communicators.push_back(std::move(communicator));
        }
        stride *= degree;
    }
}

/// Groups are numbered by axis, stage number, then the other coordinates, the later axis fastest.
std::uint64_t Transformer::group_number(std::uint32_t rank, Axis axis) const {
    std::uint64_t earlier = 0;  // groups of earlier axes
    auto number = static_cast<std::uint64_t>(stage_of(rank).stage);
    std::uint64_t lane = lane_of(rank);
    for (const Axis other : kAxes) {
        const auto degree = static_cast<std::uint64_t>(strategy_.degree(other));
        if (other < axis) earlier += rank_count() / degree;
        if (other != axis) number = number * degree + lane % degree;
        lane /= degree;
    }
    return 1 + earlier + number;
}

std::string Transformer::groups_json(const Checkpoint& checkpoint) const {
    std::string text = "{";
    std::uint32_t step = 1;  // from one rank of a group to the next
    std::vector<std::pair<std::uint64_t, std::uint32_t>> number_and_first;
    for (const Axis axis : kAxes) {
        const auto degree = static_cast<std::uint32_t>(strategy_.degree(axis));
        number_and_first.clear();
        for (std::uint32_t rank = 0; rank < rank_count(); ++rank) {
            checkpoint();
            if ((rank / step) % degree == 0) number_and_first.emplace_back(group_number(rank, axis), rank);
        }
        std::sort(number_and_first.begin(), number_and_first.end());
        for (const auto& [number, first] : number_and_first) {
            if (text.size() > 1) text += ", ";
            text += '"' + std::to_string(number) + "\": [";
            for (std::uint32_t i = 0; i < degree; ++i) {
                checkpoint();
                if (i > 0) text += ", ";
                text += std::to_string(first + i * step);
            }
            text += ']';
        }
        step *= degree;
    }
    return text + "}";
}

std::size_t Transformer::memory_bytes() const {
    std::size_t bytes = heap_bytes(model_.operators()) + heap_bytes(graphs_.stages) +
                        heap_bytes(graphs_.pairs) + heap_bytes(first_id_of_position_);
    for (const StageGraph& stage : graphs_.stages) {
        bytes += heap_bytes(stage.members) + heap_bytes(stage.nodes) + heap_bytes(stage.data_deps) +
                 heap_bytes(stage.control_deps);
    }
    for (const auto& order : id_order_) bytes += heap_bytes(order);
    for (const MemberTable& table : member_of_op_) bytes += table.memory_bytes();
    return bytes;
}

Workload Transformer::flatten(const Checkpoint& checkpoint) const {
    Workload workload;
    std::vector<Trace> traces;
    for (std::uint32_t position = 0; position < graphs_.stages.size(); ++position) {
        checkpoint();
        traces.push_back(flatten_stage(position, checkpoint));
    }
    workload.traces = std::make_shared<const std::vector<Trace>>(std::move(traces));
    workload.trace_of_rank.resize(rank_count());
    workload.lane_of_rank.resize(rank_count());
    for (std::uint32_t rank = 0; rank < rank_count(); ++rank) {
        workload.trace_of_rank[rank] = position_of(rank);
        workload.lane_of_rank[rank] = lane_of(rank);
    }
    add_communicators(workload, checkpoint);
    return workload;
}

Workload generate(std::shared_ptr<const Transformer> transformer, const Checkpoint& checkpoint) {
    Workload workload = transformer->flatten(checkpoint);
    workload.catalog = std::move(transformer);
    return workload;
}

}  // namespace dse::workload
