// Reads the state in which the event queue ran dry.
#include "simulator/deadlock_report.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace dse::simulator {

namespace {

using workload::Node;
using workload::NodeKind;

constexpr std::size_t kMostNodesPerRank = 8;

const char* name_of(const Node& node) {
    switch (node.kind) {
        case NodeKind::kInvalid:
            return "invalid";
        case NodeKind::kMemLoad:
            return "memory load";
        case NodeKind::kMemStore:
            return "memory store";
        case NodeKind::kCompute:
            return "compute";
        case NodeKind::kSend:
            return "send";
        case NodeKind::kReceive:
            return "receive";
        case NodeKind::kCollective:
            break;
    }
    switch (node.collective) {
        case CollectiveType::kAllGather:
            return "all-gather";
        case CollectiveType::kReduceScatter:
            return "reduce-scatter";
        case CollectiveType::kAllToAll:
            return "all-to-all";
        case CollectiveType::kBroadcast:
            return "broadcast";
        default:
            return "all-reduce";
    }
}

/// Peers whose message a node of a rank still waits for.
using AwaitedPeers = std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>>;

AwaitedPeers awaited_peers(const CollectiveEngine& collectives, const Transport& transport) {
    AwaitedPeers peers;
    transport.for_each_unmatched_receive([&](const MessageKey& key, const Callback& callback) {
        if (callback.kind == CallbackKind::kStreamReceive) {
            peers[{callback.rank, collectives.node_of(callback.object)}].insert(key.source);
        } else if (callback.kind == CallbackKind::kNodeDone) {
            peers[{callback.rank, callback.object}].insert(key.source);
        }
    });
    return peers;
}

std::string cause_of_issued(const Node& node, bool never_completes, bool has_peers) {
    if (node.kind == NodeKind::kCompute) {
        return node.num_ops == 0 ? "it has no operations, so its roofline time is 0/0 and it never ends"
                                 : "its time lies beyond the clock, so it never ends";
    }
    if (never_completes)
        return "its communicator leaves no phase to run (a single member?), so it never ends";
    if (has_peers) return "it waits for messages that are never sent";
    if (node.kind == NodeKind::kReceive) return "it waits for a message that is never sent";
    return "it waits for its communicator";
}

}  // namespace

std::vector<BlockedNode> blocked_nodes(const workload::Workload& workload, const GraphExecutor& executor,
                                       CollectiveEngine& collectives, const Transport& transport) {
    std::vector<BlockedNode> blocked;
    const auto& results = executor.results();
    if (std::all_of(results.begin(), results.end(), [](const RankResult& r) { return r.finished; }))
        return blocked;

    const AwaitedPeers peers = awaited_peers(collectives, transport);
    for (std::uint32_t rank = 0; rank < workload.rank_count(); ++rank) {
        if (results[rank].finished) continue;
        const std::vector<Node>& nodes = workload.trace(rank).nodes;
        std::size_t listed = 0;
        bool any_issued = false;
        for (std::uint32_t n = 0; n < nodes.size(); ++n) {
            any_issued = any_issued || executor.state(rank, n) == NodeState::kIssued;
        }
        for (std::uint32_t n = 0; n < nodes.size() && listed < kMostNodesPerRank; ++n) {
            const NodeState state = executor.state(rank, n);
            if (state != NodeState::kIssued && state != NodeState::kReady) continue;
            const Node& node = nodes[n];
            BlockedNode entry;
            entry.rank = rank;
            entry.node_id = workload.catalog->id(rank, n);
            entry.name = workload.catalog->name(rank, n);
            entry.kind = name_of(node);
            if (const auto found = peers.find({rank, n}); found != peers.end()) {
                entry.peers.assign(found->second.begin(), found->second.end());
            }
            bool never_completes = false;
            if (node.kind == NodeKind::kCollective) {
                entry.communicator = workload.communicators[workload.slots_of(rank)[node.slot]].name;
                never_completes = state == NodeState::kIssued && collectives.never_completes(rank, n);
            }
            if (state == NodeState::kIssued) {
                entry.cause = cause_of_issued(node, never_completes, !entry.peers.empty());
            } else {
                entry.cause = any_issued
                                  ? "it is ready, but its hardware slot is taken by a node that never ends"
                                  : "it became ready through a skipped node (zero size), and no later "
                                    "completion on this rank issues it";
            }
            blocked.push_back(std::move(entry));
            ++listed;
        }
    }
    return blocked;
}

}  // namespace dse::simulator
