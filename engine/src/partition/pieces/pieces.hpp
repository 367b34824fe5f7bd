// A relaxation of balanced partitions: pieces of limited weight, however many.
#pragma once

#include <functional>

#include "partition/problem/problem.hpp"

namespace dse::partition {

struct PiecesResult {
    double bound = 0;       ///< no partition of that limit cuts less
    bool complete = false;  ///< `piece` cuts no more than `bound`
    Labels piece;           ///< of each node, where complete
};

/// The least cost of cut edges if every connected piece weighs at most `limit`, or a bound on it.
///
/// A device's nodes fall into connected pieces, none heavier than the device may be, and no edge inside of
/// one is cut: so this is a lower bound for any number of devices. `cost` is of each edge of the problem,
/// `upper` of a known partition: nothing is proven beyond it. Nodes are placed one by one; a state is which
/// of the placed nodes with neighbours to come hang together, and how heavy those pieces are. Where that is
/// too much to remember, states are replaced by one that is no worse than any of them, and edges are left for
/// a sweep of their own, whose bound is added: an edge counts in one sweep only.
PiecesResult least_cut_into_pieces(const Problem& problem, const std::vector<double>& cost, double limit,
                                   double upper, std::size_t effort, const std::function<bool()>& expired);

}  // namespace dse::partition
