// The different traces of ranks: those that do the same become one, so that they can be simulated as one.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "simulation/workloads/workload.hpp"

namespace dse::workload {

/// Traces that differ in names and ids only are one. Peers and tags of two of them may differ by one number,
/// as those of neighbours in a pipeline's stage do.
class DistinctTraces {
public:
    /// The number of a trace among the different ones, and its lane: what is added to their peers and tags.
    struct Place {
        std::uint32_t number = 0, lane = 0;
    };

    Place add(Trace trace);

    /// Gives a workload its traces. Lanes stay only where every message stays in its lane.
    void release_to(Workload& workload);

private:
    bool keep_their_lanes(const Workload& workload) const;

    std::vector<Trace> traces_;
    std::unordered_multimap<std::uint64_t, std::uint32_t> numbers_;
};

}  // namespace dse::workload
