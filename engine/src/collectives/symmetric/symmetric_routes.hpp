// All-to-all where all nodes have the same links: ways from one node, each a set of hops in any order.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "collectives/problem/problem.hpp"
#include "collectives/problem/random.hpp"
#include "collectives/symmetric/symmetric.hpp"

namespace dse::synthesis {

/// Looks for routes of `chunks` chunks from node 0 to every other node, and for their times. As u + g + h =
/// u + h + g, the hops of a way can be taken in any order; each generator takes one chunk at a time, so that
/// the chunks are jobs of an open shop. A run balances the loads of the generators and then always sends what
/// has the longest way left, each with other noise.
class RouteSearch {
public:
    RouteSearch(Generators generators, std::uint32_t chunks, std::uint64_t seed);

    /// Makes up to `runs` more runs, fewer if one takes at most `enough`; true if the best became better.
    bool search(std::uint64_t runs, Picoseconds enough);

    const Tree& best() const { return best_; }
    std::uint64_t runs() const { return runs_; }

private:
    using Hops = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  ///< generators, how often each
    struct Job {
        Hops left;
        Picoseconds way = 0;  ///< what its hops take, at least
        std::uint32_t node = 0;
        std::uint32_t version = 0;  ///< hops begun; odd entries of queues are stale by it
    };
    struct Waiting {
        std::int64_t urgency;
        std::uint32_t job;
        std::uint32_t version;
    };
    struct Moment {
        Picoseconds time;
        std::uint32_t job;  ///< that arrives, or the number of jobs: a generator is free
        std::uint32_t generator;
    };

    void find_ways();
    void add_ways(const std::vector<Picoseconds>& price);
    std::vector<std::int64_t> loads_of(const std::vector<std::uint32_t>& chosen) const;
    void choose_ways();
    bool run_shop();
    void arrive(std::uint32_t job);
    void start(std::uint32_t generator, Picoseconds time);

    Generators graph_;
    std::uint32_t chunks_;
    std::uint64_t seed_;
    std::uint64_t runs_ = 0;
    Tree best_;
    Random random_;
    std::vector<std::vector<Hops>> ways_;  ///< per node: different ways of least or little load
    std::vector<std::uint32_t> chosen_;    ///< per job, (node - 1) * chunks + chunk: which way
    std::vector<Job> jobs_;
    std::vector<std::vector<Waiting>> queues_;  ///< per generator, a heap
    std::vector<Picoseconds> free_;             ///< per generator
    std::vector<Moment> moments_;               ///< a heap
    std::vector<TreeSend> sends_;
};

}  // namespace dse::synthesis
