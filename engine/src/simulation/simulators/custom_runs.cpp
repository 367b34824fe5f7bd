// Issue and completion of the nodes of a custom collective.
#include "simulation/simulators/custom_runs.hpp"

namespace dse::simulator {

using workload::Node;
using workload::NodeKind;

void CustomRuns::start(std::uint32_t rank, std::uint32_t node, const workload::Trace& trace,
                       std::span<const std::uint32_t> members) {
    const std::uint32_t index = runs_.add({rank, node, &trace, members, {}, 0});
    for (const Node& each : trace.nodes) runs_[index].waits.push_back(each.wait_count);
    for (std::uint32_t n = 0; n < trace.nodes.size(); ++n) {
        if (trace.nodes[n].wait_count == 0) issue(index, n);
    }
}

void CustomRuns::issue(std::uint32_t index, std::uint32_t n) {
    Run& run = runs_[index];
    const Node& node = run.trace->nodes[n];
    ++run.running;
    const std::uint32_t object = started_.add({index, n});
    const Callback done{CallbackKind::kCustomNode, run.rank, object};
    const auto peer = [&] { return run.members.empty() ? node.peer : run.members[node.peer]; };
    if (node.kind == NodeKind::kSend) {
        transport_.send({node.tag, run.rank, peer(), node.bytes}, done);
    } else if (node.kind == NodeKind::kReceive) {
        transport_.receive({node.tag, peer(), run.rank, node.bytes}, done);
    } else {
        timers_.after(run.rank, node.duration_ns, {TimerKind::kCustomNode, object});
    }
}

std::uint32_t CustomRuns::ended(std::uint32_t object) {
    const auto [index, n] = started_[object];
    started_.remove(object);
    const workload::Trace& trace = *runs_[index].trace;
    for (const std::uint32_t child : trace.children_of(trace.nodes[n])) {
        if (--runs_[index].waits[child] == 0) issue(index, child);
    }
    return --runs_[index].running == 0 ? index : kNil;
}

}  // namespace dse::simulator
