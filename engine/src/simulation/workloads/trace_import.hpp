// Makes a workload of execution-trace files, one per rank.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/cancellation.hpp"
#include "simulation/traces/trace_file.hpp"
#include "simulation/workloads/communicator_table.hpp"
#include "simulation/workloads/reference.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::workload {

/// Gives the file of a rank; called for ranks 0, 1, … in order.
using ReadTrace = std::function<chakra::TraceFile(std::uint32_t rank)>;

/// Checks and flattens a file for each of `paths`, which are for messages, as `reference` reads it. Ranks
/// that do the same share a trace, whatever their names and ids are. Throws InputError naming file, node and
/// attribute.
Workload import_traces(const ReadTrace& read, const std::vector<std::string>& paths,
                       const std::vector<NamedGroup>& groups,
                       const Reference& reference = default_reference(), const Checkpoint& checkpoint = {});

/// A place of a custom collective of `places`: sends, receives and durations. Throws as `import_traces`.
Trace import_custom(const chakra::TraceFile& file, const std::string& path, std::uint32_t place,
                    std::uint32_t places, const Checkpoint& checkpoint = {});

}  // namespace dse::workload
