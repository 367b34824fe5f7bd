// Why ranks did not finish: the nodes that block them, what those wait for, and the cause.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "simulation/simulators/graph_executor.hpp"
#include "simulation/simulators/result.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::simulator {

/// Ranks whose message a node still waits for, by (index in the executor, node).
using AwaitedPeers = std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>>;

/// Issued and ready nodes of what did not finish, at most a few each; empty if all finished.
///
/// The executor may run representatives only: `ranks` gives the rank of each of its indices.
/// `never_completes(index, node)` says whether an issued collective has no phase to run.
std::vector<BlockedNode> blocked_nodes(
    const workload::Workload& workload, const GraphExecutor& executor, std::span<const std::uint32_t> ranks,
    const AwaitedPeers& peers, const std::function<bool(std::uint32_t, std::uint32_t)>& never_completes,
    const Checkpoint& checkpoint);

}  // namespace dse::simulator
