// Maximum flows with whole capacities, by Dinic's algorithm (1970): levels, then blocking flows.
#pragma once

#include <cstdint>
#include <vector>

namespace dse::synthesis {

using Amount = std::int64_t;

/// Arcs with capacities between nodes. Capacities can be changed between flows, which keep nothing.
class FlowNetwork {
public:
    explicit FlowNetwork(std::uint32_t nodes) : leaving_(nodes) {}

    std::uint32_t nodes() const { return static_cast<std::uint32_t>(leaving_.size()); }
    std::uint32_t add_node();

    /// Returns the number of the arc.
    std::uint32_t add_arc(std::uint32_t from, std::uint32_t to, Amount capacity);
    void remove_last_arc();
    void set_capacity(std::uint32_t arc, Amount capacity) { capacity_[2 * arc] = capacity; }
    Amount capacity(std::uint32_t arc) const { return capacity_[2 * arc]; }

    /// The flow from `source` to `sink`; not looked for beyond `enough`.
    Amount flow(std::uint32_t source, std::uint32_t sink, Amount enough);

    /// After a flow that is less than was asked for: the nodes from which there is still a way to its sink.
    /// The smallest set of nodes whose entering edges are all full.
    std::vector<std::uint8_t> sink_side(std::uint32_t sink) const;

private:
    bool find_levels(std::uint32_t source, std::uint32_t sink);
    Amount push_path(std::uint32_t source, std::uint32_t sink, Amount most);

    std::vector<std::vector<std::uint32_t>> leaving_;  ///< per node: half-arcs; 2a is arc a, 2a + 1 its turn
    std::vector<std::uint32_t> head_;                  ///< per half-arc
    std::vector<Amount> capacity_, left_;              ///< per half-arc
    std::vector<std::uint32_t> level_, next_, queue_, path_;
};

}  // namespace dse::synthesis
