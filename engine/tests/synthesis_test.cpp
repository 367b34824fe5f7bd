// Searches for schedules: runs in rounds are those of the event loop, to the last send; trees are packed into
// flows.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "collectives/synthesis/greedy.hpp"
#include "collectives/synthesis/rounds.hpp"
#include "collectives/synthesis/trees.hpp"
#include "core/error.hpp"
#include "tests/check.hpp"

namespace {

using namespace dse::synthesis;

constexpr Picoseconds kRound = 21'471'520;  // 1 MiB over 500 ns and 50 GB/s

/// Every node holds `k` chunks, or, if they are spread, up to three random nodes hold each.
Problem all_gather(Random& random, std::uint32_t nodes, std::uint32_t k, bool is_spread) {
    Problem problem;
    problem.npus = problem.nodes = nodes;
    problem.chunks = nodes * k;
    problem.everyone_wants_all = true;
    const std::uint32_t links_per_node = 1 + random.below(4);
    const bool has_ring = random.below(7) > 0;  // without it, some cannot be reached
    for (std::uint32_t u = 0; u < nodes; ++u)
        for (std::uint32_t v = 0; v < nodes; ++v)
            if (u != v && (random.below(nodes) < links_per_node || (has_ring && v == (u + 1) % nodes)))
                problem.links.push_back({u, v, kRound, kRound});
    for (std::uint32_t c = 0; c < problem.chunks; ++c)
        for (std::uint32_t i = is_spread ? random.below(3) + 1 : 1; i > 0; --i)
            problem.holdings.push_back({is_spread ? random.below(nodes) : c % nodes, c, 0});
    problem.index_links();
    return problem;
}

std::string text_of(const GreedyRun& run) {
    std::string text = run.is_complete ? "" : "given up; ";
    for (std::size_t i = 0; i < run.sends.size; ++i)
        text += std::to_string(run.sends.link[i]) + ":" + std::to_string(run.sends.chunk[i]) + "@" +
                std::to_string(run.sends.start[i]) + " ";
    text += "ends " + std::to_string(run.sends.time) + "; last";
    for (const Picoseconds at : run.last_arrival) text += " " + std::to_string(at);
    return text;
}

/// What a run makes, or why it cannot.
template <typename Run>
std::string outcome_of(const Run& run) {
    try {
        return text_of(run());
    } catch (const dse::InputError& error) {
        return error.what();
    }
}

void test_rounds_are_the_event_loop() {
    const dse::Checkpoint never;
    int complete = 0, given_up = 0, unreachable = 0;
    for (std::uint32_t seed = 0; seed < 1000; ++seed) {
        Random random(seed);
        const std::uint32_t nodes = 2 + random.below(seed % 10 == 0 ? 60 : 12);
        const Problem problem = all_gather(random, nodes, 1 + random.below(3), seed % 3 == 0);
        if (problem.links.empty()) continue;
        const Task task(problem);
        for (const bool by_arrival : {false, true}) {
            GreedyOptions options;
            options.by_arrival = by_arrival;
            options.tells_last_arrivals = true;
            CHECK(goes_in_rounds(task, options));
            std::string expected;
            const auto compare = [&] {
                expected = outcome_of([&] { return run_events(task, options, Random(seed, 1), never); });
                CHECK_TEXT(outcome_of([&] { return run_rounds(task, options, Random(seed, 1), never); }),
                           expected);
            };
            compare();
            if (expected.find("topology: ") == 0) {
                ++unreachable;
                continue;
            }
            ++complete;
            options.limit = kRound * (1 + random.below(nodes));
            compare();
            given_up += expected.find("given up") == 0;
        }
    }
    CHECK(complete > 100 && given_up > 100 && unreachable > 100);
}

void test_only_what_is_alike_goes_in_rounds() {
    Random random(1);
    const Problem alike = all_gather(random, 5, 1, false);
    const GreedyOptions oldest;
    CHECK(goes_in_rounds(Task(alike), oldest));
    GreedyOptions any;
    any.rule = Rule::kRandom;
    CHECK(!goes_in_rounds(Task(alike), any));
    const auto changed = [&](const auto& change) {
        Problem problem = alike;
        change(problem);
        return goes_in_rounds(Task(problem), oldest);
    };
    CHECK(!changed([](Problem& it) { it.links[1].arrival = it.links[1].held = kRound + 1; }));
    CHECK(!changed([](Problem& it) { it.links[1].held = kRound - 1; }));
    CHECK(!changed([](Problem& it) { it.holdings[2].at = 1; }));
    CHECK(!changed([](Problem& it) { it.free_from.assign(it.links.size(), 1); }));
    CHECK(!changed([](Problem& it) {
        it.everyone_wants_all = false;
        it.wants = {{1, 0}};
    }));
    CHECK(!changed([](Problem& it) { it.npus = 4; }));  // the fifth node is a switch
}

/// By the time of flows there are trees for all chunks, a tick before there are none.
void test_trees_are_packed_into_what_flows_take() {
    const dse::Checkpoint never;
    int packed = 0;
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
        Random random(seed);
        const Problem problem = all_gather(random, 2 + random.below(8), 1 + random.below(6), false);
        const std::vector<Picoseconds> at_once(problem.nodes, 0);
        const Supply supply = tracks_of(problem, 0).supply;
        const FlowBound bound =
            least_time_of_flows(problem.nodes, problem.links, at_once, at_once, supply, 0, never);
        if (bound.time == kNever) continue;
        const auto trees = link_trees(problem, bound.time, 0.3, random, never);
        CHECK(trees.has_value());
        CHECK(!link_trees(problem, bound.time - 1, 0.3, random, never));
        if (!trees) continue;
        ++packed;
        Amount copies = 0;
        std::vector<Amount> load(problem.links.size(), 0);
        for (const LinkTree& tree : *trees) {
            CHECK(tree.links.size() == problem.npus - 1);
            copies += tree.copies;
            for (const std::uint32_t link : tree.links) load[link] += tree.copies;
        }
        CHECK(copies == problem.chunks);
        for (const Amount sends : load) CHECK(sends <= bound.time / kRound);
    }
    CHECK(packed > 100);
}

}  // namespace

int main() try {
    test_rounds_are_the_event_loop();
    test_only_what_is_alike_goes_in_rounds();
    test_trees_are_packed_into_what_flows_take();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
    std::printf("unexpected exception: %s\n", error.what());
    return 1;
}
