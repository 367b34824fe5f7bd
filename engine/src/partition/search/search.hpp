// Branch and bound over assignments of nodes to devices, for every objective.
#pragma once

#include <functional>

#include "partition/problem/problem.hpp"

namespace dse::partition {

struct SearchResult {
    Labels labels;  ///< empty if nothing below `upper` was found
    double cost = kInfinite;
    double bound = 0;  ///< no partition costs less; equals the cost once the search is complete
    bool complete = false;
    std::uint64_t visited = 0;
};

/// Looks for a partition of a cost below `upper`, until `expired` says that time is over. A search that ends
/// has proven that no other is better, up to `Problem::slack`.
SearchResult branch_and_bound(const Problem& problem, double upper, const std::function<bool()>& expired);

}  // namespace dse::partition
