// The files of custom collectives: a trace for each place of a group, by prefixes that system.json names.
#pragma once

#include <map>
#include <string>

#include "base/cancellation.hpp"
#include "simulation/simulators/config.hpp"
#include "simulation/workloads/workload.hpp"

namespace dse::config {

/// Paths as system.json has them.
struct CustomFiles {
    std::map<workload::CollectiveType, std::string> of_type;  ///< `<prefix>.<place>.et`
    std::string of_nodes;  ///< a YAML file: id of a node to prefix; empty: there is none

    bool empty() const { return of_type.empty() && of_nodes.empty(); }
};

/// Reads what the collectives of a workload need; paths that do not begin at the root are below `folder`, the
/// working directory if it is empty.
///
/// Throws InputError for a reference that has none, for a file that is missing or wrong, and for a group
/// whose list is not ascending: the reference takes places from the sorted list, and ranks from the list as
/// it is.
simulator::CustomCollectives read_custom(const CustomFiles& files, const std::string& folder,
                                         const workload::Reference& reference,
                                         const workload::Workload& workload,
                                         const Checkpoint& checkpoint = {});

}  // namespace dse::config
