// Adding trees in time: a limit ends hopeless schedules alone, and leaves nothing behind.
#include <cstdio>
#include <exception>
#include <vector>

#include "collectives/trees/sum_trees_change.hpp"
#include "collectives/trees/sum_trees_schedule.hpp"
#include "tests/check.hpp"

namespace {

using namespace dse::synthesis;

/// An all-reduce on a ring with some more links, of three speeds.
Problem all_reduce(Random& random) {
    Problem problem;
    problem.npus = problem.nodes = problem.chunks = 3 + random.below(8);
    problem.everyone_wants_all = true;
    for (std::uint32_t u = 0; u < problem.nodes; ++u)
        for (std::uint32_t v = 0; v < problem.nodes; ++v) {
            if (u == v || (v != (u + 1) % problem.nodes && random.below(4) > 0)) continue;
            const Picoseconds held = 10 + 7 * random.below(3);
            problem.links.push_back({u, v, held + 5 * random.below(2), held});
        }
    for (std::uint32_t c = 0; c < problem.chunks; ++c) problem.holdings.push_back({c, c, 0});
    problem.index_links();
    return problem;
}

void test_a_limit_ends_hopeless_schedules_alone() {
    const dse::Checkpoint never;
    int given_up = 0, ended = 0;
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        Random random(seed);
        const Problem problem = all_reduce(random);
        const EndsOfChunks ends = ends_of_all(problem);
        const Lanes lanes;
        TreeGrower grower(problem, ends, lanes);
        std::vector<AddingTree> trees;
        for (std::uint32_t c = 0; c < problem.chunks; ++c)
            trees.push_back(grower.grow(c, random.below(problem.npus), {0.3, 2.0}, random));
        TreeTimes times(problem, trees, lanes, {}, seed % 2 == 0 ? &ends : nullptr);
        std::vector<Picoseconds> keys(times.hops());
        for (Picoseconds& key : keys) key = random.below(1000);
        const TreeStarts whole = times.forwards(keys, never);
        for (const Picoseconds limit : {whole.time / 3, whole.time - 1, whole.time, whole.time + 1}) {
            const TreeStarts limited = times.forwards(keys, never, limit);
            CHECK(limited.time == (whole.time < limit ? whole.time : kNever));
            ++(limited.time == kNever ? given_up : ended);
            if (limited.time != kNever) CHECK(limited.starts == whole.starts);
        }
        CHECK(times.forwards(keys, never).starts == whole.starts);
    }
    CHECK(given_up == 900 && ended == 300);
}

}  // namespace

int main() try {
    test_a_limit_ends_hopeless_schedules_alone();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
    std::printf("unexpected exception: %s\n", error.what());
    return 1;
}
