// Checks that the ranks of each group run one trace, and sorts nodes by when they were issued.
#include "simulation/simulators/issue_plan.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.hpp"

namespace dse::simulator {

namespace {

using workload::Node;
using workload::NodeKind;
using workload::Trace;
using workload::Workload;

bool is_collective(const Node& node) {
    return node.kind == NodeKind::kCollective && node.collective != CollectiveType::kBroadcast;
}

/// Only ranks of one trace have the same nodes, and so one order of their collectives.
void check_groups(const Workload& workload) {
    const auto refuse = [](const std::string& group) {
        throw InputError(
            "issue_order safe needs the ranks of a communicator group to run the same trace, as in "
            "workloads that are generated here; those of group '" +
            group + "' do not: write system.issue_order=reference");
    };
    for (const workload::Communicator& group : workload.communicators) {
        const std::vector<std::uint32_t>& members = group.members;
        if (members.empty() && workload.traces->size() > 1) refuse(group.name);
        for (const std::uint32_t member : members) {
            if (workload.trace_of_rank[member] != workload.trace_of_rank[members.front()]) refuse(group.name);
        }
    }
}

}  // namespace

bool needs_plan(const Workload& workload, const SystemConfig& config) {
    if (config.issue_order != IssueOrder::kSafe || config.replay_only) return false;
    const bool any = std::any_of(workload.traces->begin(), workload.traces->end(), [](const Trace& trace) {
        return std::any_of(trace.nodes.begin(), trace.nodes.end(), is_collective);
    });
    if (any) check_groups(workload);
    return any;
}

SystemConfig sound_system(const SystemConfig& config) {
    SystemConfig sound = config;
    sound.npu_types.clear();
    sound.deratings.clear();
    sound.faults.clear();
    sound.track_memory = false;
    return sound;
}

IssuePlan plan_of_run(const Workload& representatives, const GraphExecutor& executor) {
    IssuePlan plan;
    plan.sequence.resize(representatives.traces->size());
    plan.turn.resize(representatives.traces->size());
    for (std::uint32_t r = 0; r < representatives.rank_count(); ++r) {
        const std::vector<Node>& nodes = representatives.trace(r).nodes;
        if (std::none_of(nodes.begin(), nodes.end(), is_collective)) continue;
        std::vector<std::uint32_t>& sequence = plan.sequence[representatives.trace_of_rank[r]];
        for (std::uint32_t n = 0; n < nodes.size(); ++n) {
            if (GraphExecutor::takes_comm_slot(nodes[n])) sequence.push_back(n);
        }
        // Nodes of one pass are issued in ascending id; those that never were come last.
        const auto when = [&](std::uint32_t n) {
            const NodeState state = executor.state(r, n);
            const bool issued = state == NodeState::kIssued || state == NodeState::kDone;
            return issued ? executor.issued_in(r, n) : UINT32_MAX;
        };
        std::stable_sort(sequence.begin(), sequence.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return when(a) < when(b); });
        std::vector<std::uint32_t>& turn = plan.turn[representatives.trace_of_rank[r]];
        turn.resize(nodes.size());
        for (std::uint32_t i = 0; i < sequence.size(); ++i) turn[sequence[i]] = i;
    }
    return plan;
}

}  // namespace dse::simulator
