// Makes a workload of execution-trace files, one per rank (simulator spec, section 2.6).
#pragma once

#include <string>
#include <vector>

#include "chakra/trace_file.hpp"
#include "workload/workload.hpp"

namespace dse::workload {

/// A named, ordered list of ranks of the groups file.
struct NamedGroup {
    std::string name;
    std::vector<std::uint32_t> members;
};

/// Checks and flattens the files; `paths` are for messages. Throws InputError naming file, node and
/// attribute.
Workload import_traces(std::vector<chakra::TraceFile> files, const std::vector<std::string>& paths,
                       const std::vector<NamedGroup>& groups);

}  // namespace dse::workload
