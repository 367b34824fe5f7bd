// Tracks past switches: pairs of a track in and a track out, as much of each as leaves every flow what it is.
#include <algorithm>

#include "collectives/trees/tree_packing.hpp"

namespace dse::synthesis {

namespace {

FlowNetwork network_of_tracks(const TrackGraph& graph) {
    FlowNetwork network(graph.nodes + 1);
    for (const Track& track : graph.tracks) network.add_arc(track.from, track.to, track.capacity);
    return network;
}

class Splitter {
public:
    Splitter(TrackGraph& graph, const Checkpoint& checkpoint)
        : graph_(graph),
          checkpoint_(checkpoint),
          total_(graph.supply.total()),
          source_(graph.nodes),
          network_(graph.nodes + 1) {
        for (std::uint32_t v = 0; v < graph.nodes; ++v) network_.add_arc(source_, v, graph.supply.of[v]);
        first_ = graph.nodes;
        for (const Track& track : graph.tracks) network_.add_arc(track.from, track.to, track.capacity);
    }

    bool run() {
        std::vector<std::uint8_t> is_sink(graph_.nodes, 0);
        for (const std::uint32_t sink : graph_.supply.sinks) is_sink[sink] = 1;
        for (std::uint32_t v = 0; v < graph_.nodes; ++v)
            if (!is_sink[v]) pass_by(v);
        return std::all_of(graph_.supply.sinks.begin(), graph_.supply.sinks.end(),
                           [&](std::uint32_t sink) { return lack_of(sink) == 0; });
    }

private:
    Amount lack_of(std::uint32_t sink) {
        checkpoint_.look();
        return total_ - network_.flow(source_, sink, total_);
    }

    void set(std::uint32_t track, Amount capacity) {
        graph_.tracks[track].capacity = capacity;
        network_.set_capacity(first_ + track, capacity);
    }

    void pass_by(std::uint32_t node) {
        std::vector<std::uint32_t> in, out;
        for (std::uint32_t t = 0; t < graph_.tracks.size(); ++t) {
            if (graph_.tracks[t].capacity == 0) continue;
            if (graph_.tracks[t].to == node) in.push_back(t);
            if (graph_.tracks[t].from == node) out.push_back(t);
        }
        // Round and round, so that what comes from one neighbour is not all sent to the same one.
        for (std::size_t shift = 0; shift < in.size(); ++shift)
            for (std::size_t o = 0; o < out.size(); ++o) join(in[(o + shift) % in.size()], out[o]);
        for (const std::uint32_t t : in) set(t, 0);
        for (const std::uint32_t t : out) set(t, 0);
    }

    /// Moves as much as it can from two tracks to one past the switch between them.
    void join(std::uint32_t a, std::uint32_t b) {
        const Track one = graph_.tracks[a], other = graph_.tracks[b];
        Amount amount = std::min(one.capacity, other.capacity);
        if (amount == 0 || one.from == other.to) return;
        const auto joined = static_cast<std::uint32_t>(graph_.tracks.size());
        graph_.tracks.push_back({one.from, other.to, 0, one.time + other.time, kNoTrack, a, b});
        network_.add_arc(one.from, other.to, 0);
        const auto move = [&] {
            set(a, one.capacity - amount);
            set(b, other.capacity - amount);
            set(joined, amount);
        };
        move();
        for (std::size_t i = 0; i < graph_.supply.sinks.size() && amount > 0;) {
            const Amount lack = lack_of(graph_.supply.sinks[i]);
            if (lack == 0) {
                ++i;
                continue;
            }
            amount = std::max<Amount>(0, amount - lack);
            move();
        }
        if (amount > 0) return;
        graph_.tracks.pop_back();
        network_.remove_last_arc();
    }

    TrackGraph& graph_;
    const Checkpoint& checkpoint_;
    Amount total_;
    std::uint32_t source_;
    FlowNetwork network_;
    std::uint32_t first_ = 0;  ///< the arc of track 0
};

}  // namespace

TrackGraph tracks_of(const Problem& problem, Picoseconds time) {
    TrackGraph graph;
    graph.nodes = problem.nodes;
    graph.supply.of.assign(problem.nodes, 0);
    for (const Holding& held : problem.holdings) ++graph.supply.of[held.node];
    const Amount total = graph.supply.total();
    for (std::uint32_t l = 0; l < problem.links.size(); ++l) {
        const Link& link = problem.links[l];
        graph.tracks.push_back(
            {link.from, link.to, deliveries_by(link, time, total), link.arrival, l, kNoTrack, kNoTrack});
    }
    for (std::uint32_t v = 0; v < problem.npus; ++v) graph.supply.sinks.push_back(v);
    if (problem.nodes == problem.npus) return graph;
    FlowNetwork network = network_of_tracks(graph);
    for (std::uint32_t v = 0; v < problem.npus; ++v) network.add_arc(problem.nodes, v, graph.supply.of[v]);
    for (std::uint32_t v = problem.npus; v < problem.nodes; ++v)
        if (network.flow(problem.nodes, v, total) == total) graph.supply.sinks.push_back(v);
    return graph;
}

bool split_switches(TrackGraph& graph, const Checkpoint& checkpoint) {
    if (graph.supply.sinks.size() == graph.nodes) return true;
    return Splitter(graph, checkpoint).run();
}

}  // namespace dse::synthesis
