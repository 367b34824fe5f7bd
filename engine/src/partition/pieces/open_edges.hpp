// Edges of each node that a sweep has neither counted nor skipped: how many, what they cost, the next one.
#pragma once

#include "partition/pieces/pieces_sweep.hpp"

namespace dse::partition {

/// Nodes may have as many neighbours as there are: no answer looks at all of them each time.
class OpenEdges {
public:
    /// `rank` is the place of each node in the order of the sweep.
    OpenEdges(const CostedGraph& graph, const std::vector<std::uint32_t>& rank)
        : graph_(graph), rank_(rank) {}

    /// Once all ranks are known, and edges are open.
    void begin();
    /// An edge of v that is no longer open.
    void close(const CostedGraph::End& end, std::uint32_t v);

    std::uint32_t count(std::uint32_t v) const { return count_[v]; }
    /// At least the sum, for that is what no state may be dropped below.
    double cost_of(std::uint32_t v) const;
    /// The lowest rank at the other end; UINT32_MAX if no edge is open.
    std::uint32_t next_rank(std::uint32_t v);

private:
    bool is_open(std::uint32_t edge) const { return graph_.use[edge] == EdgeUse::kOpen; }

    const CostedGraph& graph_;
    const std::vector<std::uint32_t>& rank_;
    std::vector<std::uint32_t> count_;
    std::vector<double> cost_, rounding_;  ///< of nodes with many edges: their sum, and what it may be off
    std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>>
        by_rank_;  ///< rank and edge, last first
};

}  // namespace dse::partition
