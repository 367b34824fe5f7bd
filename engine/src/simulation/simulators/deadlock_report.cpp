// Reads the state in which the event queue ran dry.
#include "simulation/simulators/deadlock_report.hpp"

#include <string>

#include "simulation/simulators/node_names.hpp"

namespace dse::simulator {

namespace {

using workload::Node;
using workload::NodeKind;

constexpr std::size_t kMostNodesPerRank = 8;

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

std::vector<BlockedNode> blocked_nodes(
    const workload::Workload& workload, const GraphExecutor& executor, std::span<const std::uint32_t> ranks,
    const AwaitedPeers& peers, const std::function<bool(std::uint32_t, std::uint32_t)>& never_completes,
    const Checkpoint& checkpoint) {
    std::vector<BlockedNode> blocked;
    for (std::uint32_t index = 0; index < ranks.size(); ++index) {
        if (executor.results()[index].finished) continue;
        const std::uint32_t rank = ranks[index];
        const std::vector<Node>& nodes = workload.trace(rank).nodes;
        std::vector<std::uint32_t> stuck;
        bool any_issued = false;
        for (std::uint32_t n = 0; n < nodes.size(); ++n) {
            checkpoint();
            const NodeState state = executor.state(index, n);
            any_issued = any_issued || state == NodeState::kIssued;
            const bool relevant = state == NodeState::kIssued || state == NodeState::kReady;
            if (relevant && stuck.size() < kMostNodesPerRank) stuck.push_back(n);
        }
        for (const std::uint32_t n : stuck) {
            BlockedNode& entry = blocked.emplace_back();
            entry.rank = rank;
            entry.node_id = workload.catalog->id(rank, n);
            entry.name = workload.catalog->name(rank, n);
            entry.kind = name_of_kind(nodes[n]);
            if (const auto found = peers.find({index, n}); found != peers.end()) {
                entry.peers.assign(found->second.begin(), found->second.end());
            }
            const bool collective = nodes[n].kind == NodeKind::kCollective;
            if (collective)
                entry.communicator = workload.communicators[workload.slots_of(rank)[nodes[n].slot]].name;
            if (executor.state(index, n) == NodeState::kIssued) {
                const bool endless = collective && never_completes(index, n);
                entry.cause = cause_of_issued(nodes[n], endless, !entry.peers.empty());
            } else if (executor.awaits_its_turn(index, n)) {
                entry.cause = "it is ready, but a node before it in the issue order never runs";
            } else {
                entry.cause = any_issued
                                  ? "it is ready, but its hardware slot is taken by a node that never ends"
                                  : "it became ready through a skipped node (zero size), and no later "
                                    "completion on this rank issues it";
            }
        }
    }
    return blocked;
}

}  // namespace dse::simulator
