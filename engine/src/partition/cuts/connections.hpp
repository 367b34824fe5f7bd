// Ties of each node of a graph to the devices of its neighbours, kept up to date as nodes move.
#pragma once

#include <span>

#include "partition/cuts/cut_graph.hpp"

namespace dse::partition {

struct Connection {
    double out = 0, in = 0;  ///< what flows to neighbours on the device, and from them
    std::uint32_t device = 0;
    std::uint32_t neighbours = 0;
};

/// A move is tried far more often than made: counting the neighbours of a node again whenever one of them
/// moves takes its degree each time, and of a hub the square of it.
class Connections {
public:
    Connections(const CutGraph& graph, std::size_t devices)
        : graph_(graph), first_(1, 0), size_(graph.nodes) {
        for (std::size_t v = 0; v < graph.nodes; ++v)
            first_.push_back(first_.back() +
                             std::min<std::size_t>(graph.start[v + 1] - graph.start[v], devices));
        all_.resize(first_.back());
    }

    /// From scratch, since sums that are added to and taken from often drift.
    void count(const Labels& labels) {
        std::fill(size_.begin(), size_.end(), 0U);
        for (std::uint32_t v = 0; v < graph_.nodes; ++v)
            for (std::uint32_t k = graph_.start[v]; k < graph_.start[v + 1]; ++k)
                add(v, static_cast<std::uint32_t>(labels[graph_.neighbour[k]]), graph_.out[k], graph_.in[k]);
    }

    std::span<const Connection> of(std::size_t v) const { return {all_.data() + first_[v], size_[v]}; }

    /// v went from device a to b.
    void moved(std::size_t v, std::size_t a, std::size_t b) {
        for (std::uint32_t k = graph_.start[v]; k < graph_.start[v + 1]; ++k) {
            const std::uint32_t u = graph_.neighbour[k];  // what v receives flows from u
            remove(u, static_cast<std::uint32_t>(a), graph_.in[k], graph_.out[k]);
            add(u, static_cast<std::uint32_t>(b), graph_.in[k], graph_.out[k]);
        }
    }

private:
    void add(std::uint32_t v, std::uint32_t device, double out, double in) {
        Connection* const begin = all_.data() + first_[v];
        Connection* const end = begin + size_[v];
        Connection* const place = find(begin, end, device);
        if (place == end) {
            *place = {out, in, device, 1};
            ++size_[v];
            return;
        }
        place->out += out;
        place->in += in;
        ++place->neighbours;
    }

    void remove(std::uint32_t v, std::uint32_t device, double out, double in) {
        Connection* const begin = all_.data() + first_[v];
        Connection* const end = begin + size_[v];
        Connection* const place = find(begin, end, device);
        place->out -= out;
        place->in -= in;
        if (--place->neighbours > 0) return;
        *place = *(end - 1);
        --size_[v];
    }

    static Connection* find(Connection* begin, Connection* end, std::uint32_t device) {
        while (begin != end && begin->device != device) ++begin;
        return begin;
    }

    const CutGraph& graph_;
    std::vector<std::size_t> first_;
    std::vector<std::uint32_t> size_;
    std::vector<Connection> all_;
};

}  // namespace dse::partition
