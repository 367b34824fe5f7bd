// Communicators of imported traces: named groups, and dimensions of the network.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulation/workloads/workload.hpp"

namespace dse::workload {

/// A named, ordered list of ranks of the groups file.
struct NamedGroup {
    std::string name;
    std::vector<std::uint32_t> members;
};

/// A communicator as a node asks for it: a group's name, or dimensions.
using CommunicatorKey = std::pair<std::string, std::optional<std::uint64_t>>;

/// Throws InputError if a group names a rank twice, or one that does not exist.
void check_groups(const std::vector<NamedGroup>& groups, std::size_t rank_count);

/// Gives every communicator that some node names an index, in order of first use.
class CommunicatorTable {
public:
    CommunicatorTable(Workload& workload, const std::vector<NamedGroup>& groups)
        : workload_(workload), groups_(groups) {}

    std::uint32_t index(const CommunicatorKey& key);

private:
    Communicator make(const CommunicatorKey& key) const;

    Workload& workload_;
    const std::vector<NamedGroup>& groups_;
    std::map<CommunicatorKey, std::uint32_t> index_;
};

}  // namespace dse::workload
