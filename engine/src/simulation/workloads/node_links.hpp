// Nodes of a trace file: their order, their attributes, and who waits for whom.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancellation.hpp"
#include "simulation/traces/trace_file.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::workload {

/// File positions in ascending id; of a repeated id the last one stays.
std::vector<std::uint32_t> order_by_id(const chakra::TraceFile& file);

/// Null where the node has no such attribute.
const chakra::Attribute* find_attribute(const chakra::TraceFile& file, const chakra::Node& node,
                                        std::string_view name);

/// Throws InputError with the file and the node.
[[noreturn]] void refuse_node(const chakra::TraceFile& file, const std::string& path,
                              const chakra::Node& node, const std::string& what);

/// Fills in the children of the nodes of a trace, which are in `order`, and for how many each waits. Throws
/// InputError if a node waits for one that is not there, or each for another.
void link_nodes(const chakra::TraceFile& file, const std::vector<std::uint32_t>& order,
                const std::string& path, Trace& trace, const Checkpoint& checkpoint);

}  // namespace dse::workload
