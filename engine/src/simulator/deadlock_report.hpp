// Why ranks did not finish: the nodes that block them, what those wait for, and the cause.
#pragma once

#include <vector>

#include "simulator/collective_engine.hpp"
#include "simulator/graph_executor.hpp"
#include "simulator/result.hpp"
#include "simulator/transport.hpp"
#include "workload/workload.hpp"

namespace dse::simulator {

/// Issued and ready nodes of the ranks that did not finish, at most a few a rank; empty if all finished.
std::vector<BlockedNode> blocked_nodes(const workload::Workload& workload, const GraphExecutor& executor,
                                       CollectiveEngine& collectives, const Transport& transport);

}  // namespace dse::simulator
