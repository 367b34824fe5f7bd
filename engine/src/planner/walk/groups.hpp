// Device groups of stages: compositions of a cluster, merged to few units, in all their arrangements.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dse::planner {

/// GPUs per stage.
using Groups = std::span<const std::uint32_t>;
/// Takes the groups; returns whether it wants more.
using TakeGroups = std::function<bool(Groups)>;

/// The rules of lists of groups: `stages` powers of two, none below max(gpus / stages, stages / gpus) *
/// scale, whose sum is `gpus`; `limit` is the most units that are arranged.
struct GroupRules {
    std::uint32_t gpus = 0;
    std::uint64_t scale = 1;
    std::uint64_t limit = 0;
};

/// Whether there is any list of `stages` groups.
bool has_groups(const GroupRules& rules, std::uint32_t stages);

/// Every list of `stages` groups in the order of the walk; false: `take` wanted no more.
bool for_each_groups(const GroupRules& rules, std::uint32_t stages, const TakeGroups& take);

}  // namespace dse::planner
