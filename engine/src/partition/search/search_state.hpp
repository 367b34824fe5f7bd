// A partial assignment under an objective: what it costs at least, and how a node is added and removed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "partition/problem/problem.hpp"

namespace dse::partition {

/// Nodes are placed in `sequence()` and removed in the opposite order.
class SearchState {
public:
    explicit SearchState(const Problem& problem)
        : problem_(problem),
          label_(problem.nodes, -1),
          load_(problem.devices, 0.0),
          memory_(problem.devices, 0.0),
          used_(problem.devices, 0) {}
    virtual ~SearchState() = default;

    virtual const std::vector<std::uint32_t>& sequence() const { return problem_.order; }
    /// Whether constraints, pins and order allow it.
    virtual bool allows(std::uint32_t node, std::uint32_t device) const;
    void place(std::uint32_t node, std::uint32_t device);
    void remove(std::uint32_t node);
    /// No completion costs less; exactly the cost if all nodes are placed.
    virtual double bound() const = 0;
    /// A key of what the cost of a completion depends on besides the nodes placed, if a state of the same key
    /// and a higher `paid` can be dropped; empty if it is not worth while.
    virtual std::string key() const { return {}; }
    virtual double paid() const { return 0; }

    bool is_used(std::uint32_t device) const { return used_[device] != 0; }
    const Labels& labels() const { return label_; }

protected:
    /// Weight of the nodes from each place of an order on. Sums of what is to come are looked up, never taken
    /// off a total: next to a large weight the small ones would be lost, and bounds too high.
    static std::vector<double> rests(const Problem& problem, const std::vector<std::uint32_t>& order);

    virtual void placed(std::uint32_t node, std::uint32_t device) = 0;
    virtual void removed(std::uint32_t node, std::uint32_t device) = 0;

    const Problem& problem_;
    Labels label_;
    std::vector<double> load_, memory_;
    std::vector<std::uint32_t> used_;  ///< nodes of each device
    std::uint32_t placed_ = 0;
    std::vector<std::pair<double, double>> before_;  ///< load and memory, so that removing restores the bits
};

/// For partitions that cost less than `upper`; what it looks for at first ends when `expired`.
std::unique_ptr<SearchState> cut_state(const Problem& problem, double upper,
                                       const std::function<bool()>& expired);
std::unique_ptr<SearchState> pipeline_state(const Problem& problem);
std::unique_ptr<SearchState> latency_state(const Problem& problem);

}  // namespace dse::partition
