// A partition under `pipeline_bottleneck` whose nodes are moved one by one, edges staying forward.
#pragma once

#include <random>

#include "partition/problem/problem.hpp"

namespace dse::partition {

/// Keeps the busy time of each device up to date. `position[d]` is the place of device d in the pipeline.
class StageMoves {
public:
    StageMoves(const Problem& problem, const Incidence& edges, Labels labels,
               std::vector<std::uint32_t> position);

    const Labels& labels() const { return labels_; }
    double bottleneck() const;
    bool within_memory() const;

    /// Passes over nodes in random order; a move is kept if the sum of high powers of the busy times falls,
    /// which is about the largest but goes on where many are as busy. Returns whether anything has moved.
    bool pass(std::mt19937_64& random);

private:
    /// Busy times and memory from scratch: what is added and taken away often drifts.
    void count();
    /// Changes of busy times if `node` moved to device b, summed by device in `changes_`.
    void weigh(std::uint32_t node, std::uint32_t b);
    void apply(std::uint32_t node, std::uint32_t b);
    void change(std::uint32_t device, double time);
    double potential_change() const;
    bool try_move(std::uint32_t node, std::uint32_t b);
    std::uint32_t& consumers(std::uint32_t tensor, std::uint32_t device);
    std::uint32_t consumers_on(std::uint32_t tensor, std::uint32_t device) const;

    const Problem& problem_;
    const Incidence& edges_;
    Labels labels_;
    std::vector<std::uint32_t> position_, device_at_;
    std::vector<double> busy_, memory_;
    std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>>
        on_;  ///< (device, consumers) of a tensor
    std::vector<std::pair<std::uint32_t, double>> changes_;
    double scale_ = 1;
};

}  // namespace dse::partition
