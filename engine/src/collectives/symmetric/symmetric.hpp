// Schedules of graphs that look the same from every node: one timed tree, whose translations do not meet.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/problem/problem.hpp"
#include "collectives/problem/random.hpp"

namespace dse::synthesis {

/// Links u → u + g; each generator g is a channel that carries one chunk of the tree at a time.
struct Generators {
    std::uint32_t nodes = 0;
    std::uint32_t count = 0;
    std::vector<std::uint32_t> next;      ///< u + g, at u * count + g
    std::vector<std::uint32_t> previous;  ///< u - g, likewise
    std::vector<Picoseconds> arrival;     ///< per generator
    std::vector<Picoseconds> held;

    void index_previous();
};

/// The chunk leaves `node` by a generator, in the tree of source 0.
struct TreeSend {
    std::uint32_t generator = 0;
    std::uint32_t node = 0;
    std::uint32_t chunk = 0;
    Picoseconds start = 0;
};

struct Tree {
    std::vector<TreeSend> sends;
    Picoseconds time = kNever;
};

/// Looks for the shortest trees by which `chunks` chunks of node 0 reach all nodes: runs of a greedy rule,
/// each with other noise. What it finds depends on the seed and the number of runs.
class TreeSearch {
public:
    TreeSearch(Generators generators, std::uint32_t chunks, std::uint64_t seed);

    /// Makes up to `runs` more runs, fewer if one takes at most `enough`; true if the best became better.
    bool search(std::uint64_t runs, Picoseconds enough);

    const Tree& best() const { return best_; }
    std::uint64_t runs() const { return runs_; }

private:
    struct Channel {
        Picoseconds free = 0;
        std::size_t looked_to = 0;         ///< in the log of arrivals
        std::vector<std::uint32_t> items;  ///< whose next one along the generator may lack the chunk
        bool sleeps = false;
    };
    struct Event {
        Picoseconds time;
        std::uint32_t tie;
        std::uint32_t generator;
    };

    void begin_run();
    bool finish_run();
    void schedule(std::uint32_t generator);
    bool deliver(std::uint32_t generator, Picoseconds time);
    std::uint32_t choose(Channel& channel, std::uint32_t generator);
    void reach(std::uint32_t item, Picoseconds time);
    bool is_hopeless() const;

    std::uint32_t next_item(std::uint32_t item, std::uint32_t generator) const {
        const std::uint32_t base = chunks_ == 1 ? 0 : item / graph_.nodes * graph_.nodes;
        return base + graph_.next[std::size_t{item - base} * graph_.count + generator];
    }

    Generators graph_;
    std::uint32_t chunks_;
    std::uint64_t seed_;
    std::uint64_t runs_ = 0;
    Tree best_;

    Random random_;
    std::int32_t noise_ = 0;
    std::vector<std::int32_t> weight_;  ///< per generator: what a neighbour is worth that it could serve
    std::vector<Picoseconds> reached_;  ///< per item, chunk * nodes + node
    std::vector<std::int32_t> worth_;   ///< per item: the weights of those that it could serve
    std::vector<std::uint32_t> log_;    ///< items in the order of their arrival
    std::vector<Channel> channels_;
    std::vector<Event> events_;  ///< a heap
    std::vector<std::uint32_t> sleepers_;
    std::vector<TreeSend> sends_;
};

}  // namespace dse::synthesis
