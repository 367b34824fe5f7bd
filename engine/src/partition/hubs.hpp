// Nodes of many neighbours: what ties each to the devices, kept up to date as its neighbours move.
#pragma once

#include <unordered_map>

#include "partition/cut_graph.hpp"

namespace dse::partition {

struct Hub {
    std::vector<double> out, in;            ///< by device: what flows to its nodes, and from them
    std::vector<std::uint32_t> neighbours;  ///< by device
};

/// Going through the neighbours of a hub whenever one of them moves would take the square of their number.
class Hubs {
public:
    static constexpr std::uint32_t kFewest = 2000;  ///< neighbours

    Hubs(const CutGraph& graph, std::size_t devices) : graph_(graph), devices_(devices) {
        for (std::uint32_t v = 0; v < graph.nodes; ++v)
            if (graph.start[v + 1] - graph.start[v] >= kFewest) hubs_.emplace(v, Hub{});
    }

    /// Anew, since sums drift.
    void count(const Labels& labels) {
        for (auto& [v, hub] : hubs_) {
            hub.out.assign(devices_, 0.0);
            hub.in.assign(devices_, 0.0);
            hub.neighbours.assign(devices_, 0);
            for (std::uint32_t k = graph_.start[v]; k < graph_.start[v + 1]; ++k) {
                const auto b = static_cast<std::size_t>(labels[graph_.neighbour[k]]);
                hub.out[b] += graph_.out[k];
                hub.in[b] += graph_.in[k];
                ++hub.neighbours[b];
            }
        }
    }

    const Hub* find(std::uint32_t v) const {
        if (hubs_.empty()) return nullptr;
        const auto found = hubs_.find(v);
        return found == hubs_.end() ? nullptr : &found->second;
    }

    /// v went from device a to b.
    void moved(std::uint32_t v, std::size_t a, std::size_t b) {
        if (hubs_.empty()) return;
        for (std::uint32_t k = graph_.start[v]; k < graph_.start[v + 1]; ++k) {
            const auto found = hubs_.find(graph_.neighbour[k]);
            if (found == hubs_.end()) continue;
            Hub& hub = found->second;
            hub.out[a] -= graph_.in[k];  // what v receives flows from the hub
            hub.in[a] -= graph_.out[k];
            --hub.neighbours[a];
            hub.out[b] += graph_.in[k];
            hub.in[b] += graph_.out[k];
            ++hub.neighbours[b];
        }
    }

private:
    const CutGraph& graph_;
    std::size_t devices_;
    std::unordered_map<std::uint32_t, Hub> hubs_;
};

}  // namespace dse::partition
