// Heuristics for graphs of any size, one for each kind of objective.
#pragma once

#include <functional>

#include "partition/search/search.hpp"

namespace dse::partition {

struct Effort {
    std::uint64_t seed = 0;
    int starts = 4;  ///< partitions made from nothing
    int cycles = 8;  ///< times that two of them are combined, or one is coarsened again
    Labels known;    ///< a partition to improve; empty if none
    bool by_flows =
        false;  ///< `process_mapping` by clusters and flows: more from fewer cycles of large graphs
};

/// Labels are empty if none that keeps the limits was found.
SearchResult multilevel_cut(const Problem& problem, const Effort& effort,
                            const std::function<bool()>& expired);
SearchResult deep_cut(const Problem& problem, const Effort& effort, const std::function<bool()>& expired);
SearchResult multilevel_pipeline(const Problem& problem, const Effort& effort,
                                 const std::function<bool()>& expired);
SearchResult list_scheduling(const Problem& problem, const Effort& effort,
                             const std::function<bool()>& expired);

/// The one for the objective.
SearchResult multilevel(const Problem& problem, const Effort& effort, const std::function<bool()>& expired);

}  // namespace dse::partition
