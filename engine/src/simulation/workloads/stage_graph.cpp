// Turns a stage's operators into nodes: ids, dropped nodes, data and control dependencies.
#include "simulation/workloads/stage_graph.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

namespace dse::workload {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

/// Where an operator's nodes stand in the stage's file order.
struct NodePlaces {
    std::uint32_t compute = kNone;
    std::uint32_t first1 = kNone, last1 = kNone;
    std::uint32_t first2 = kNone, last2 = kNone;
    std::uint32_t receive = kNone;
};

class StageBuilder {
public:
    /// `own_position` is room for an entry per operator of the model.
    StageBuilder(const ModelGraph& model, StageGraph& graph, std::vector<std::uint32_t>& own_position,
                 const Checkpoint& checkpoint)
        : model_(model), graph_(graph), checkpoint_(checkpoint), own_position_(own_position) {
        for (std::uint32_t i = 0; i < graph.members.size(); ++i) {
            checkpoint.every(i);
            const StageMember& member = graph.members[i];
            if (member.shadow) {
                shadow_position_.emplace(member.op, i);
            } else {
                own_position_[static_cast<std::size_t>(member.op)] = i;
            }
        }
    }

    /// `pair_sent` and `pair_received` give the crossing pair of an operator, if it has one here.
    void build(const std::unordered_map<std::int32_t, std::uint32_t>& pair_sent,
               const std::unordered_map<std::int32_t, std::uint32_t>& pair_received) {
        places_.resize(graph_.members.size());
        for (std::uint32_t i = 0; i < graph_.members.size(); ++i) {
            checkpoint_.every(i);
            create_nodes(i, pair_sent, pair_received);
        }
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
            checkpoint_.every(i);
            link(graph_.nodes[i]);
        }
        add_start_chain();
    }

private:
    const Operator& op_at(std::uint32_t position) const {
        return model_.operators()[static_cast<std::size_t>(graph_.members[position].op)];
    }

    std::uint32_t position_of(std::int32_t op) const {
        const auto index = static_cast<std::size_t>(op);
        if (model_.operators()[index].stage == graph_.stage) return own_position_[index];
        return shadow_position_.at(op);
    }

    std::uint32_t add_node(Role role, std::uint32_t position, std::uint32_t number,
                           OperandCollective collective = {}) {
        graph_.nodes.push_back(
            {.role = role, .collective = collective, .position = position, .number = number});
        return static_cast<std::uint32_t>(graph_.nodes.size() - 1);
    }

    void create_nodes(std::uint32_t position,
                      const std::unordered_map<std::int32_t, std::uint32_t>& pair_sent,
                      const std::unordered_map<std::int32_t, std::uint32_t>& pair_received) {
        const StageMember& member = graph_.members[position];
        const Operator& op = op_at(position);
        NodePlaces& places = places_[position];
        const std::uint32_t compute_id = graph_.id_count++;
        if (member.shadow) {
            places.receive = add_node(Role::kReceive, position, pair_received.at(member.op));
            return;
        }
        if (op.computes()) places.compute = add_node(Role::kCompute, position, compute_id);
        const auto add_chain = [&](Role role, const CollectiveChain& chain, std::uint32_t& first,
                                   std::uint32_t& last) {
            for (std::size_t i = 0; i < chain.size(); ++i) {
                last = add_node(role, position, graph_.id_count++, chain[i].collective);
                graph_.nodes.back().place_in_chain = static_cast<std::uint8_t>(i);
                if (first == kNone) first = last;
            }
        };
        add_chain(Role::kOperand1Collective, *op.chain1, places.first1, places.last1);
        add_chain(Role::kOperand2Collective, op.shape->chain2, places.first2, places.last2);
        if (const auto sent = pair_sent.find(member.op); sent != pair_sent.end()) {
            add_node(Role::kSend, position, sent->second);
        }
    }

    /// The node whose end makes an operator's result available; none for sources.
    std::uint32_t output_node(std::uint32_t position) const {
        const NodePlaces& places = places_[position];
        if (places.receive != kNone) return places.receive;
        if (places.compute != kNone) return places.compute;
        if (places.last1 != kNone) return places.last1;
        const Operator& op = op_at(position);
        const bool follows = op.kind == OperatorKind::kAlias || op.kind == OperatorKind::kSideResult;
        return follows ? output_node(position_of(op.operand1)) : kNone;
    }

    bool is_dropped(std::uint32_t position) const {
        return places_[position].compute == kNone && places_[position].receive == kNone;
    }

    void link(StageNode& node) {
        const Operator& op = op_at(node.position);
        const NodePlaces& places = places_[node.position];
        const auto self = static_cast<std::uint32_t>(&node - graph_.nodes.data());
        node.data_begin = static_cast<std::uint32_t>(graph_.data_deps.size());
        node.control_begin = static_cast<std::uint32_t>(graph_.control_deps.size());
        switch (node.role) {
            case Role::kCompute:
                link_compute(op, places);
                if (op.waits_for >= 0 && places.first1 == kNone) add_control(op.waits_for);
                break;
            case Role::kOperand1Collective:
                link_collective(self, places.first1, op.operand1);
                if (op.waits_for >= 0 && self == places.first1) add_control(op.waits_for);
                break;
            case Role::kOperand2Collective:
                link_collective(self, places.first2, op.operand2);
                break;
            case Role::kSend:
                graph_.data_deps.push_back(places.compute);
                break;
            case Role::kReceive:
                if (const std::int32_t awaited = model_.receive_waits_for(graph_.members[node.position].op);
                    awaited >= 0) {
                    add_control(awaited);
                }
                break;
        }
        node.data_end = static_cast<std::uint32_t>(graph_.data_deps.size());
        node.control_end = static_cast<std::uint32_t>(graph_.control_deps.size());
    }

    void link_collective(std::uint32_t self, std::uint32_t first, std::int32_t operand) {
        if (self != first) {
            graph_.data_deps.push_back(self - 1);
            return;
        }
        const std::uint32_t source = output_node(position_of(operand));
        if (source != kNone) graph_.data_deps.push_back(source);
    }

    /// Collectives first, then direct producers, then what replaces dropped producers in list order.
    void link_compute(const Operator& op, const NodePlaces& places) {
        std::array<std::uint32_t, 4> found{};
        std::size_t count = 0;
        const auto add = [&](std::uint32_t node) {
            const auto end = found.begin() + static_cast<std::ptrdiff_t>(count);
            if (node != kNone && std::find(found.begin(), end, node) == end) found[count++] = node;
        };
        add(places.last1);
        add(places.last2);
        std::array<std::uint32_t, 2> dropped = {kNone, kNone};
        const auto add_producer = [&](std::int32_t operand, std::uint32_t chain, std::uint32_t& late) {
            if (operand < 0 || chain != kNone) return;
            const std::uint32_t position = position_of(operand);
            if (is_dropped(position)) {
                late = position;
            } else {
                add(output_node(position));
            }
        };
        add_producer(op.operand1, places.last1, dropped[0]);
        add_producer(op.operand2, places.last2, dropped[1]);
        std::sort(dropped.begin(), dropped.end());
        for (const std::uint32_t position : dropped) {
            if (position != kNone) add(output_node(position));
        }
        graph_.data_deps.insert(graph_.data_deps.end(), found.begin(),
                                found.begin() + static_cast<std::ptrdiff_t>(count));
    }

    void add_control(std::int32_t op) {
        const std::uint32_t node = output_node(position_of(op));
        if (node != kNone) graph_.control_deps.push_back(node);
    }

    /// Collectives that nothing holds back are chained in file order if there are more than two of them.
    void add_start_chain() {
        std::vector<std::uint32_t> chain;
        for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
            checkpoint_.every(i);
            const StageNode& node = graph_.nodes[i];
            const bool collective =
                node.role == Role::kOperand1Collective || node.role == Role::kOperand2Collective;
            const bool free = node.data_begin == node.data_end && node.control_begin == node.control_end;
            if (collective && free) chain.push_back(i);
        }
        if (chain.size() <= 2) return;
        for (std::size_t i = 1; i < chain.size(); ++i) {
            StageNode& node = graph_.nodes[chain[i]];
            node.control_begin = static_cast<std::uint32_t>(graph_.control_deps.size());
            graph_.control_deps.push_back(chain[i - 1]);
            node.control_end = node.control_begin + 1;
        }
    }

    const ModelGraph& model_;
    StageGraph& graph_;
    const Checkpoint& checkpoint_;
    std::vector<std::uint32_t>& own_position_;
    std::unordered_map<std::int32_t, std::uint32_t> shadow_position_;
    std::vector<NodePlaces> places_;
};

/// The stage's part of the global list, then shadows in the order in which the scan first meets them.
void collect_members(const ModelGraph& model, StageGraph& graph, const Checkpoint& checkpoint) {
    const std::vector<Operator>& operators = model.operators();
    std::vector<std::int32_t> foreign;
    std::unordered_set<std::int32_t> known;
    for (std::size_t i = 0; i < operators.size(); ++i) {
        checkpoint.every(i);
        const Operator& op = operators[i];
        if (op.stage != graph.stage) continue;
        graph.members.push_back({static_cast<std::int32_t>(i), false});
        for (const std::int32_t operand : {op.operand1, op.operand2}) {
            if (operand < 0 || operators[static_cast<std::size_t>(operand)].stage == graph.stage) continue;
            if (known.insert(operand).second) foreign.push_back(operand);
        }
    }
    for (const std::int32_t op : foreign) graph.members.push_back({op, true});
}

}  // namespace

StageGraphs build_stage_graphs(const ModelGraph& model, const Checkpoint& checkpoint) {
    StageGraphs result;
    using PairOf = std::unordered_map<std::int32_t, std::uint32_t>;
    std::unordered_map<std::int32_t, PairOf> sent;
    std::unordered_map<std::int32_t, PairOf> received;
    for (const std::int32_t stage : model.stage_order()) {
        StageGraph& graph = result.stages.emplace_back();
        graph.stage = stage;
        collect_members(model, graph, checkpoint);
        checkpoint();
        for (const StageMember& member : graph.members) {
            if (!member.shadow) continue;
            const std::int32_t from = model.operators()[static_cast<std::size_t>(member.op)].stage;
            const auto pair = static_cast<std::uint32_t>(result.pairs.size());
            sent[from].emplace(member.op, pair);
            received[stage].emplace(member.op, pair);
            result.pairs.push_back({member.op, from, stage});
        }
    }
    std::vector<std::uint32_t> own_position(model.operators().size());
    for (StageGraph& graph : result.stages) {
        checkpoint();
        StageBuilder(model, graph, own_position, checkpoint).build(sent[graph.stage], received[graph.stage]);
    }
    return result;
}

}  // namespace dse::workload
