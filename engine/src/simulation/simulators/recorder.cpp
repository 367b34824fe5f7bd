// Times come from the executor, lifetimes from its memory trackers: exactly what its results count.
#include "simulation/simulators/recorder.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "base/pool.hpp"
#include "simulation/simulators/node_names.hpp"

namespace dse::simulator {

using workload::Node;
using workload::NodeKind;
using workload::Trace;

namespace {

std::int64_t recorded(Time time) { return time == kStillOpen ? kNever : static_cast<std::int64_t>(time); }

const char* bound_name(Bound bound) {
    switch (bound) {
        case Bound::kCompute:
            return "compute";
        case Bound::kMemory:
            return "memory";
        default:
            return "";
    }
}

}  // namespace

Recorder::Recorder(const workload::Workload& workload, const SystemConfig& config, RecordingRequest request)
    : workload_(workload), config_(config), request_(std::move(request)) {
    for (const std::uint32_t rank : request_.ranks) {
        if (rank < workload.rank_count()) continue;
        throw InputError("rank " + std::to_string(rank) + " cannot be recorded: the workload has " +
                         std::to_string(workload.rank_count()) + " ranks");
    }
}

void Recorder::take(const GraphExecutor& executor, const SimulationResult& result,
                    const Checkpoint& checkpoint) {
    for (const std::uint32_t rank : chosen_ranks(result)) {
        const Place place{rank, result.class_of_rank[rank]};
        RankRecording& ranked = recording_.ranks.emplace_back(rank_recording(executor, place, checkpoint));
        if (!config_.replay_only) match_receives(executor, result, place, ranked, checkpoint);
        if (config_.track_memory) add_tensors(executor, place, ranked, checkpoint);
    }
}

std::vector<std::uint32_t> Recorder::chosen_ranks(const SimulationResult& result) const {
    if (!request_.ranks.empty()) return request_.ranks;
    SimulationResult merged = result;
    merge_equal_classes(workload_, merged);
    std::vector<std::uint32_t> lowest(merged.classes.size(), kNil);
    for (std::uint32_t rank = 0; rank < merged.class_of_rank.size(); ++rank) {
        std::uint32_t& first = lowest[merged.class_of_rank[rank]];
        if (first == kNil) first = rank;
    }
    if (!request_.decisive_only) return lowest;
    const auto largest = [&](auto figure) {
        const auto less = [&](const RankResult& a, const RankResult& b) { return figure(a) < figure(b); };
        const auto found = std::max_element(merged.classes.begin(), merged.classes.end(), less);
        return lowest[static_cast<std::size_t>(found - merged.classes.begin())];
    };
    const std::uint32_t last = largest([](const RankResult& r) { return r.finish_ns; });
    const std::uint32_t fullest = largest([](const RankResult& r) { return r.peak_memory_bytes; });
    if (last == fullest) return {last};
    return {std::min(last, fullest), std::max(last, fullest)};
}

RankRecording Recorder::rank_recording(const GraphExecutor& executor, Place place,
                                       const Checkpoint& checkpoint) {
    const Trace& trace = workload_.trace(place.rank);
    RankRecording ranked;
    ranked.rank = place.rank;
    std::vector<std::uint32_t> row(trace.nodes.size(), kNil);
    for (std::uint32_t n = 0; n < trace.nodes.size(); ++n) {
        checkpoint();
        const NodeState state = executor.state(place.index, n);
        if (state != NodeState::kIssued && state != NodeState::kDone) continue;
        row[n] = static_cast<std::uint32_t>(ranked.nodes.size());
        ranked.nodes.push_back(node_recording(executor, place, n));
    }
    for (std::uint32_t n = 0; n < trace.nodes.size(); ++n) {
        for (const std::uint32_t child : trace.children_of(trace.nodes[n])) {
            checkpoint();
            if (row[child] != kNil) ranked.nodes[row[child]].parents.push_back(n);
        }
    }
    return ranked;
}

RecordedNode Recorder::node_recording(const GraphExecutor& executor, Place place, std::uint32_t n) {
    const Node& node = workload_.trace(place.rank).nodes[n];
    RecordedNode result;
    result.node = n;
    result.id = workload_.catalog->id(place.rank, n);
    result.name = workload_.catalog->name(place.rank, n);
    result.kind = name_of_kind(node);
    result.bound = bound_name(executor.bound_of(place.index, n));
    result.on_cpu = node.on_cpu;
    result.start_ns = static_cast<std::int64_t>(executor.issued_at(place.index, n));
    result.end_ns = recorded(executor.ended_at(place.index, n));
    result.bytes = node.bytes;
    result.num_ops = node.num_ops;
    if (node.kind == NodeKind::kCollective && node.slot != workload::kNoSlot) {
        result.group = group_index(workload_.slots_of(place.rank)[node.slot]);
    } else if (node.kind == NodeKind::kSend || node.kind == NodeKind::kReceive) {
        result.peer = static_cast<std::int32_t>(node.peer + workload_.lane_of_rank[place.rank]);
    }
    return result;
}

std::int32_t Recorder::group_index(std::uint32_t communicator) {
    const auto next = static_cast<std::int32_t>(recording_.groups.size());
    const auto [entry, added] = group_of_communicator_.emplace(communicator, next);
    if (added) {
        const workload::Communicator& group = workload_.communicators[communicator];
        recording_.groups.push_back({group.name, group.members, group.by_dimension, group.dimension_mask});
    }
    return entry->second;
}

/// The k-th send of a name belongs to the k-th receive of that name, in order of issue.
void Recorder::match_receives(const GraphExecutor& executor, const SimulationResult& result, Place place,
                              RankRecording& ranked, const Checkpoint& checkpoint) const {
    const Trace& trace = workload_.trace(place.rank);
    std::map<std::uint32_t, Sends> sends_of_peer;
    std::map<std::uint32_t, std::int32_t> send_of_receive;
    for (const auto& [name, receives] : messages_of(executor, place, NodeKind::kReceive, checkpoint)) {
        checkpoint();
        const auto& [tag, bytes, peer] = name;
        const Place sender{peer, result.class_of_rank[peer]};
        auto known = sends_of_peer.find(peer);
        if (known == sends_of_peer.end()) {
            known =
                sends_of_peer.emplace(peer, messages_of(executor, sender, NodeKind::kSend, checkpoint)).first;
        }
        const auto sends = known->second.find({tag, bytes, place.rank});
        if (sends == known->second.end()) continue;
        for (std::size_t k = 0; k < std::min(receives.size(), sends->second.size()); ++k) {
            send_of_receive[receives[k]] = static_cast<std::int32_t>(sends->second[k]);
        }
    }
    for (RecordedNode& node : ranked.nodes) {
        const auto found = send_of_receive.find(node.node);
        if (found == send_of_receive.end()) continue;
        const auto peer =
            static_cast<std::uint32_t>(trace.nodes[node.node].peer) + workload_.lane_of_rank[place.rank];
        const auto send = static_cast<std::uint32_t>(found->second);
        node.peer_node = found->second;
        node.message_ns = static_cast<std::int64_t>(executor.issued_at(result.class_of_rank[peer], send));
    }
}

Recorder::Sends Recorder::messages_of(const GraphExecutor& executor, Place place, NodeKind kind,
                                      const Checkpoint& checkpoint) const {
    const Trace& trace = workload_.trace(place.rank);
    const std::uint32_t lane = workload_.lane_of_rank[place.rank];
    Sends messages;
    for (std::uint32_t n = 0; n < trace.nodes.size(); ++n) {
        checkpoint();
        const Node& node = trace.nodes[n];
        const NodeState state = executor.state(place.index, n);
        if (node.kind != kind || (state != NodeState::kIssued && state != NodeState::kDone)) continue;
        messages[{std::uint64_t{node.tag} + lane, node.bytes, node.peer + lane}].push_back(n);
    }
    for (auto& [name, nodes] : messages) {
        std::sort(nodes.begin(), nodes.end(), [&](std::uint32_t a, std::uint32_t b) {
            return std::tuple(executor.issued_in(place.index, a), a) <
                   std::tuple(executor.issued_in(place.index, b), b);
        });
    }
    return messages;
}

void Recorder::add_tensors(const GraphExecutor& executor, Place place, RankRecording& ranked,
                           const Checkpoint& checkpoint) const {
    const Trace& trace = workload_.trace(place.rank);
    std::vector<bool> written(trace.tensor_count);
    for (const Node& node : trace.nodes) {
        for (std::uint32_t m = node.write_begin; m < node.write_end; ++m) {
            const bool counts =
                trace.mentions[m].bytes != 0 || !config_.reference->skips_tensors_without_bytes;
            if (counts) written[trace.mentions[m].tensor] = true;
        }
    }
    const std::vector<TensorLife>& lives = executor.memory(place.index).lives();
    for (std::uint32_t t = 0; t < lives.size(); ++t) {
        checkpoint();
        const TensorLife& life = lives[t];
        if (!life.known) continue;
        RecordedTensor& tensor = ranked.tensors.emplace_back();
        tensor.name = workload_.catalog->tensor_name(place.rank, t);
        tensor.bytes = life.bytes;
        tensor.birth_ns = static_cast<std::int64_t>(life.birth);
        tensor.death_ns = life.read ? static_cast<std::int64_t>(life.death) : kNever;
        tensor.external = !written[t];
    }
}

}  // namespace dse::simulator
