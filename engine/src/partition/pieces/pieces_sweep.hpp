// One sweep over the nodes of a graph, for the least cut into pieces of limited weight.
#pragma once

#include <array>
#include <functional>

#include "partition/problem/problem.hpp"

namespace dse::partition {

inline constexpr std::size_t kMostSlots = 20;

enum class EdgeUse : std::uint8_t { kOpen, kSkipped, kCounted };

/// A graph without directions.
struct CostedGraph {
    struct End {
        std::uint32_t node, edge;
    };
    std::vector<double> weight;  ///< of nodes
    std::vector<double> cost;    ///< of edges, above 0
    std::vector<EdgeUse> use;    ///< of edges
    std::vector<std::vector<End>> ends;
};

/// The memory of the nodes placed: `block[s]` is the piece of slot s, `weight[b]` that of a piece.
struct PieceState {
    double cost = 0;
    std::uint32_t parent = 0;
    std::uint32_t joined = 0;  ///< slots, as bits, whose pieces the last node joined
    std::array<std::uint8_t, kMostSlots + 1> block{};
    std::array<double, kMostSlots + 1> weight{};
};

struct SweepPlan {
    std::vector<std::uint32_t> order;
    double limit = 0;
    double upper = kInfinite;  ///< states of this cost are dropped, with `rest` added
    std::vector<double> rest;  ///< by nodes placed: what those to come cost at least; may be empty
    std::size_t most_states = 1;
};

struct SweepResult {
    double bound = 0;
    bool is_exact = false;      ///< every edge counted, no states replaced
    std::vector<double> least;  ///< cost at least, by nodes placed
    Labels piece;               ///< of each node, where exact
};

/// An order that keeps few nodes with neighbours to come, by edges not counted yet; empty if there is none,
/// or no time.
std::vector<std::uint32_t> narrow_order(const CostedGraph& graph, const std::function<bool()>& expired);

/// Counts open edges but for those that it skips, and marks them.
SweepResult sweep_pieces(CostedGraph& graph, const SweepPlan& plan, const std::function<bool()>& expired);

/// Drops states that another is as good as in any continuation; keeps at most `most`, replacing some by one
/// that is no worse. `pending[s]` is the cost of edges from slot s to nodes to come, `heavy` what weight of
/// one more piece is worth. Returns whether states were replaced; without time some that could go may stay.
bool reduce(std::vector<PieceState>& states, const std::vector<double>& pending, double heavy,
            std::size_t most, const std::function<bool()>& expired);

}  // namespace dse::partition
