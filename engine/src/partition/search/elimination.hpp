// Graphs of small tree width whose nodes are coupled by edges alone.
#pragma once

#include <functional>

#include "partition/problem/problem.hpp"

namespace dse::partition {

/// Whether no limit of weight or memory can be reached: only edges and pins count under `kProcessMapping`.
bool has_no_limits(const Problem& problem);

/// The labels of least bytes x distance of a problem without limits; nothing if it would take more than
/// `most_work` sums, or when `expired`.
///
/// A dynamic program over a tree decomposition: nodes are eliminated one by one, that of fewest neighbours
/// first; what is left of a node is its least cost for all devices of its neighbours, which become neighbours
/// of each other. A tree takes (devices)^2 for each node, a graph of tree width w (devices)^(w + 1);
/// series-parallel graphs have width 2. Bertele and Brioschi 1972.
Labels least_mapping(const Problem& problem, double most_work, const std::function<bool()>& expired);

}  // namespace dse::partition
