// Makes a workload of execution-trace files, one per rank.
#pragma once

#include <string>
#include <vector>

#include "base/cancellation.hpp"
#include "simulation/traces/trace_file.hpp"
#include "simulation/workloads/communicator_table.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::workload {

/// Checks and flattens the files; `paths` are for messages. Throws InputError naming file, node and
/// attribute.
Workload import_traces(std::vector<chakra::TraceFile> files, const std::vector<std::string>& paths,
                       const std::vector<NamedGroup>& groups, const Checkpoint& checkpoint = {});

}  // namespace dse::workload
