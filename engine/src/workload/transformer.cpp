// Ranks, ids, groups and flat traces of a generated workload.
#include "workload/transformer.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "workload/numbers.hpp"

namespace dse::workload {

namespace {

constexpr std::uint32_t kNotHere = UINT32_MAX;

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

StrategySpec checked(const ModelSpec& model, const StrategySpec& strategy) {
    const std::pair<std::int64_t, const char*> fields[] = {{model.input_dim, "model.input_dim"},
                                                           {model.output_dim, "model.output_dim"},
                                                           {model.d_model, "model.d_model"},
                                                           {model.d_ff, "model.d_ff"},
                                                           {model.num_heads, "model.num_heads"},
                                                           {model.seq_len, "model.seq_len"},
                                                           {model.batch_size, "model.batch_size"},
                                                           {strategy.dp, "strategy.dp"},
                                                           {strategy.tp, "strategy.tp"},
                                                           {strategy.sp, "strategy.sp"},
                                                           {strategy.pp, "strategy.pp"}};
    for (const auto& [value, key] : fields) require_positive(value, key);
    if (model.num_layers < 1 || model.num_layers > 1'000'000) {
        throw InputError("model.num_layers is " + std::to_string(model.num_layers) +
                         "; it must be 1 to 1000000");
    }
    check_fidelity(model, strategy);
    if (strategy.pp > model.num_layers + 2) {
        throw InputError("strategy.pp is " + std::to_string(strategy.pp) +
                         ": a stage would own no operator; " + std::to_string(model.num_layers) +
                         " layers and two embeddings allow at most " + std::to_string(model.num_layers + 2));
    }
    constexpr std::int64_t kMostRanks = 1 << 24;
    std::int64_t ranks = 1;
    for (const std::int64_t degree : {strategy.dp, strategy.tp, strategy.sp, strategy.pp}) {
        if (degree > kMostRanks / ranks) throw InputError("the strategy needs more than 16777216 ranks");
        ranks *= degree;
    }
    return strategy;
}

/// The conditions of the spec's section 1 under which some shard is not whole.
bool has_fractional_shards(const ModelSpec& m, const StrategySpec& s) {
    const auto divides = [](std::int64_t divisor, std::int64_t value) { return value % divisor == 0; };
    bool whole = divides(s.dp, m.batch_size / m.fidelity.micro_batches) &&
                 divides(s.tp, m.shown_kv_heads()) && divides(m.shown_kv_heads(), m.num_heads) &&
                 divides(s.sp, m.seq_len) && divides(s.tp, m.num_heads) && divides(m.num_heads, m.d_model) &&
                 divides(s.tp, m.d_ff) && divides(s.tp, m.input_dim) && divides(s.tp, m.output_dim);
    if (s.weight_sharded) {
        whole = whole && divides(s.dp * s.sp, m.input_dim) && divides(s.dp * s.sp, m.d_model) &&
                divides(s.sp, m.d_model / m.num_heads);
    }
    return !whole;
}

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
void link_children(Trace& trace, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& parent_child) {
    std::vector<std::uint32_t> next(trace.nodes.size() + 1, 0);
    for (const auto& [parent, child] : parent_child) ++next[parent + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
        trace.nodes[i].child_begin = next[i];
        trace.nodes[i].child_end = next[i + 1];
    }
    trace.children.resize(parent_child.size());
    for (const auto& [parent, child] : parent_child) {
        trace.children[next[parent]++] = child;
        ++trace.nodes[child].wait_count;
    }
}

}  // namespace

Transformer::Transformer(const ModelSpec& model, const StrategySpec& strategy)
    : strategy_(checked(model, strategy)),
      lanes_(static_cast<std::uint32_t>(strategy.lanes())),
      fractional_(has_fractional_shards(model, strategy)),
      model_(model, strategy),
      graphs_(build_stage_graphs(model_)) {
    std::uint64_t next_id = 1;
    for (const StageGraph& graph : graphs_.stages) {
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

        std::vector<std::uint32_t>& position =
            position_of_op_.emplace_back(model_.operators().size(), kNotHere);
        for (std::uint32_t i = 0; i < graph.members.size(); ++i) {
            position[static_cast<std::size_t>(graph.members[i].op)] = i;
        }
    }
    first_crossing_id_ = next_id;
}

std::uint32_t Transformer::position_of_stage(std::int32_t stage) const {
    const auto& order = model_.stage_order();
    return static_cast<std::uint32_t>(std::find(order.begin(), order.end(), stage) - order.begin());
}

std::uint64_t Transformer::node_id(std::uint32_t rank, const StageNode& node) const {
    if (node.is_point_to_point()) {
        const std::uint64_t message = static_cast<std::uint64_t>(node.number) * lanes_ + lane_of(rank);
        return first_crossing_id_ + 2 * message + (node.role == Role::kReceive ? 1 : 0);
    }
    const std::uint32_t position = position_of(rank);
    const std::uint64_t ids = graphs_.stages[position].id_count;
    return first_id_of_position_[position] + ids * lane_of(rank) + node.number;
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

/// The member whose tensor an operand names: the operator itself, or what it aliases.
std::uint32_t Transformer::named_member(const StageGraph& graph, std::int32_t index) const {
    const std::vector<std::uint32_t>& positions =
        position_of_op_[static_cast<std::size_t>(&graph - graphs_.stages.data())];
    while (true) {
        const std::uint32_t position = positions[static_cast<std::size_t>(index)];
        const Operator& operand = op(index);
        if (operand.kind != OperatorKind::kAlias || graph.members[position].shadow) return position;
        index = operand.operand1;
    }
}

std::uint32_t Transformer::peer_position(const StageNode& node) const {
    const CrossingPair& pair = graphs_.pairs[node.number];
    return position_of_stage(node.role == Role::kSend ? pair.to_stage : pair.from_stage);
}

Trace Transformer::flatten_stage(std::uint32_t position) const {
    const StageGraph& graph = graphs_.stages[position];
    const std::vector<std::uint32_t>& order = id_order_[position];
    std::vector<std::uint32_t> index_of(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) index_of[order[i]] = i;

    std::vector<std::uint64_t> tensor_bytes(graph.members.size());
    double last_size = -1.0;
    std::uint64_t last_bytes = 0;
    for (std::size_t i = 0; i < graph.members.size(); ++i) {
        const double size = op(graph.members[i].op).shape->result_size;
        if (size != last_size) last_bytes = leading_integer(decimal_text(size));
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
    link_children(trace, parent_child);
    return trace;
}

void Transformer::add_communicators(Workload& workload) const {
    const std::uint32_t ranks = rank_count();
    workload.slot_begin.resize(ranks + 1);
    workload.communicator_of_slot.assign(static_cast<std::size_t>(ranks) * kAxes.size(), kNoSlot);
    for (std::uint32_t rank = 0; rank <= ranks; ++rank) workload.slot_begin[rank] = rank * 3;
    std::uint32_t stride = 1;
    for (const Axis axis : kAxes) {
        const auto degree = static_cast<std::uint32_t>(strategy_.degree(axis));
        const auto slot = static_cast<std::size_t>(axis);
        for (std::uint32_t first = 0; degree > 1 && first < ranks; ++first) {
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
    const auto& s = strategy_;
    workload.communicator_group_count =
        static_cast<std::uint64_t>(s.pp * (s.tp * s.sp + s.dp * s.sp + s.dp * s.tp));
}

/// Groups are numbered by axis, stage number, then the two other coordinates, the later axis fastest.
std::uint64_t Transformer::group_number(std::uint32_t rank, Axis axis) const {
    const auto dp = static_cast<std::uint64_t>(strategy_.dp);
    const auto tp = static_cast<std::uint64_t>(strategy_.tp);
    const auto sp = static_cast<std::uint64_t>(strategy_.sp);
    const auto pp = static_cast<std::uint64_t>(strategy_.pp);
    const std::uint64_t lane = lane_of(rank);
    const std::uint64_t d = lane % dp;
    const std::uint64_t t = lane / dp % tp;
    const std::uint64_t q = lane / (dp * tp);
    const auto stage = static_cast<std::uint64_t>(stage_of(rank).stage);
    switch (axis) {
        case Axis::kData:
            return 1 + (stage * tp + t) * sp + q;
        case Axis::kTensor:
            return 1 + pp * tp * sp + (stage * dp + d) * sp + q;
        case Axis::kSequence:
            break;
    }
    return 1 + pp * tp * sp + pp * dp * sp + (stage * dp + d) * tp + t;
}

std::string Transformer::groups_json() const {
    std::string text = "{";
    const std::uint32_t stride[3] = {1, static_cast<std::uint32_t>(strategy_.dp),
                                     static_cast<std::uint32_t>(strategy_.dp * strategy_.tp)};
    std::vector<std::pair<std::uint64_t, std::uint32_t>> number_and_first;
    for (const Axis axis : kAxes) {
        const auto degree = static_cast<std::uint32_t>(strategy_.degree(axis));
        const std::uint32_t step = stride[static_cast<std::size_t>(axis)];
        number_and_first.clear();
        for (std::uint32_t rank = 0; rank < rank_count(); ++rank) {
            if ((rank / step) % degree == 0) number_and_first.emplace_back(group_number(rank, axis), rank);
        }
        std::sort(number_and_first.begin(), number_and_first.end());
        for (const auto& [number, first] : number_and_first) {
            if (text.size() > 1) text += ", ";
            text += '"' + std::to_string(number) + "\": [";
            for (std::uint32_t i = 0; i < degree; ++i) {
                if (i > 0) text += ", ";
                text += std::to_string(first + i * step);
            }
            text += ']';
        }
    }
    return text + "}";
}

Workload Transformer::flatten() const {
    Workload workload;
    std::vector<Trace> traces;
    for (std::uint32_t position = 0; position < graphs_.stages.size(); ++position) {
        traces.push_back(flatten_stage(position));
    }
    workload.traces = std::make_shared<const std::vector<Trace>>(std::move(traces));
    workload.trace_of_rank.resize(rank_count());
    workload.lane_of_rank.resize(rank_count());
    for (std::uint32_t rank = 0; rank < rank_count(); ++rank) {
        workload.trace_of_rank[rank] = position_of(rank);
        workload.lane_of_rank[rank] = lane_of(rank);
    }
    add_communicators(workload);
    return workload;
}

Workload generate(std::shared_ptr<const Transformer> transformer) {
    Workload workload = transformer->flatten();
    workload.catalog = std::move(transformer);
    return workload;
}

}  // namespace dse::workload
