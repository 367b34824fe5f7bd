// Checks of groups, and communicators by key.
#include "simulation/workloads/communicator_table.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dse::workload {

void check_groups(const std::vector<NamedGroup>& groups, std::size_t rank_count) {
    for (const NamedGroup& group : groups) {
        std::vector<std::uint32_t> members = group.members;
        std::sort(members.begin(), members.end());
        const auto twice = std::adjacent_find(members.begin(), members.end());
        if (twice != members.end()) {
            throw InputError("group '" + group.name + "' names rank " + std::to_string(*twice) + " twice");
        }
        if (!members.empty() && members.back() >= rank_count) {
            throw InputError("group '" + group.name + "' names rank " + std::to_string(members.back()) +
                             ", but there are " + std::to_string(rank_count) + " ranks");
        }
    }
}

std::uint32_t CommunicatorTable::index(const CommunicatorKey& key) {
    const auto [entry, added] =
        index_.emplace(key, static_cast<std::uint32_t>(workload_.communicators.size()));
    if (added) workload_.communicators.push_back(make(key));
    return entry->second;
}

Communicator CommunicatorTable::make(const CommunicatorKey& key) const {
    Communicator communicator;
    communicator.name = key.first;
    communicator.by_dimension = key.second.has_value();
    communicator.dimension_mask = key.second.value_or(0);
    for (const NamedGroup& group : groups_) {
        if (!communicator.by_dimension && !key.first.empty() && group.name == key.first) {
            communicator.members = group.members;
        }
    }
    return communicator;
}

}  // namespace dse::workload
