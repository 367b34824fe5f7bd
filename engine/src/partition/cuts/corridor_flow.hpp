// The least cut between two devices: a maximum flow through the nodes near their common boundary.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/problem/problem.hpp"

namespace dse::partition {

/// A corridor between a source and a sink that are outside of it. Its least cut is grown from both ends until
/// one side fits the limit of weight (Hamann and Strasser 2018, "Graph bisection with Pareto optimization").
class CorridorFlow {
public:
    struct Sides {
        std::vector<char> is_sink;  ///< of each node; empty if no cut is cheaper within the limit
        double cut = 0;
    };

    /// Forgets all nodes. `source_weight` and `sink_weight` are outside of the corridor.
    void reset(std::size_t nodes, double source_weight, double sink_weight, double limit);

    /// Weight, cost of being on the sink's side, cost of being on the source's, and the distance from the
    /// present cut, negative on the sink's side.
    void set_node(std::uint32_t node, double weight, double from_source, double to_sink, std::int32_t depth);

    /// `forward` is what u on the source's side and v on the sink's costs.
    void add_edge(std::uint32_t u, std::uint32_t v, double forward, double backward);

    /// The least cut that costs at most `most` and keeps the limit.
    Sides least_cut(double most);

private:
    enum class End : std::uint8_t { kNone, kSource, kSink };

    struct Arc {
        std::uint32_t to, back;
        double left;
    };

    void build_rows();
    bool find_levels();
    void augment(double most);
    double push_from(std::uint32_t root);
    void find_sink_side();
    bool grow(bool source);
    double weight_of(const std::vector<std::int32_t>& reached) const;
    bool has_source(std::uint32_t v) const { return end_[v] == End::kSource || source_left_[v] > least_; }
    bool has_sink(std::uint32_t v) const { return end_[v] == End::kSink || sink_left_[v] > least_; }

    struct Edge {
        std::uint32_t u, v;
        double forward, backward;
    };
    std::vector<Edge> edges_;
    std::vector<double> weight_, source_left_, sink_left_;
    std::vector<std::int32_t> depth_, level_, sink_level_;
    std::vector<End> end_;
    std::vector<std::uint32_t> start_, next_, queue_, path_;
    std::vector<Arc> arcs_;
    double source_weight_ = 0, sink_weight_ = 0, limit_ = 0, total_ = 0, flow_ = 0, least_ = 0;
    int pierced_ = 0;
};

}  // namespace dse::partition
