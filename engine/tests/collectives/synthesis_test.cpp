// Searches for schedules: runs in rounds and in sweeps are those of the event loop, to the last send; trees
// are packed into flows.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "collectives/greedy/any_rounds.hpp"
#include "collectives/greedy/greedy.hpp"
#include "collectives/greedy/round_logs.hpp"
#include "collectives/greedy/rounds.hpp"
#include "collectives/greedy/sweeps.hpp"
#include "collectives/problem/node_order.hpp"
#include "collectives/trees/trees.hpp"
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

std::string text_of(GreedyRun run) {
    run.sends.unpack();
    std::string text = run.is_complete ? "" : "given up; ";
    for (std::size_t i = 0; i < run.sends.size; ++i)
        text += std::to_string(run.sends.link[i]) + ":" + std::to_string(run.sends.chunk[i]) + "@" +
                std::to_string(run.sends.start[i]) + " ";
    text += "ends " + std::to_string(run.sends.time) + "; last";
    for (const Picoseconds at : run.last_arrival) text += " " + std::to_string(at);
    return text;
}

/// Returns what a run makes, or why it cannot.
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

/// A node holds a chunk; links go both ways to some nodes that are near, and over far ends if it is a ring.
Problem near_neighbours(Random& random, std::uint32_t nodes, std::uint32_t chunks_per_node) {
    Problem problem;
    problem.npus = problem.nodes = nodes;
    problem.chunks = nodes * chunks_per_node;
    problem.everyone_wants_all = true;
    const bool is_ring = random.below(2) > 0, has_gap = random.below(8) == 0;
    const std::uint32_t far = 2 + random.below(9);
    std::vector<std::uint32_t> names(nodes);
    for (std::uint32_t v = 0; v < nodes; ++v) names[v] = v;
    random.shuffle(names);
    for (std::uint32_t u = 0; u < nodes; ++u)
        for (const std::uint32_t by : {1U, far}) {
            if (u + by >= nodes && !is_ring) continue;
            if (has_gap && u < nodes / 2 && u + by >= nodes / 2) continue;
            const std::uint32_t a = names[u], b = names[(u + by) % nodes];
            if (a == b) continue;
            problem.links.push_back({a, b, kRound, kRound});
            if (random.below(5) > 0) problem.links.push_back({b, a, kRound, kRound});
        }
    for (std::uint32_t c = 0; c < problem.chunks; ++c) problem.holdings.push_back({c % nodes, c, 0});
    problem.index_links();
    return problem;
}

/// In caches of all sizes, so that a sweep does one round, a few or as many as it can.
void test_sweeps_are_rounds() {
    const dse::Checkpoint never;
    int complete = 0, given_up = 0, unreachable = 0;
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        Random random(seed);
        const Problem problem = near_neighbours(random, 4 + random.below(80), 1 + random.below(3));
        const Task task(problem);
        GreedyOptions options;
        CHECK(goes_in_rounds(task, options) && goes_in_sweeps(task, options));
        const auto compare = [&] {
            const std::string expected =
                outcome_of([&] { return run_rounds(task, options, Random(seed, 1), never); });
            for (const std::size_t cache_bytes : {0, 10'000, 30'000, 60'000, 1'000'000})
                CHECK_TEXT(outcome_of([&] {
                               return run_sweeps(task, options, Random(seed, 1), never, cache_bytes);
                           }),
                           expected);
            return expected;
        };
        if (compare().find("topology: ") == 0) {
            ++unreachable;
            continue;
        }
        ++complete;
        options.limit = kRound * (1 + random.below(problem.chunks)) + random.below(2);
        given_up += compare().find("given up") == 0;
    }
    CHECK(complete > 100 && given_up > 50 && unreachable > 10);
}

void test_sweeps_know_many_chunks() {
    const dse::Checkpoint never;
    Random random(1);
    const Problem problem = near_neighbours(random, 5, 14'000);  // more than 2^16
    const Task task(problem);
    CHECK_TEXT(outcome_of([&] { return run_sweeps(task, {}, Random(3), never, 0); }),
               outcome_of([&] { return run_rounds(task, {}, Random(3), never); }));
}

void check_rounds(const Problem& problem, const Columns& sends);

void test_sweeps_know_many_links() {
    const dse::Checkpoint never;
    Problem problem;
    problem.npus = problem.nodes = 300;  // more than 2^8 into a node
    problem.chunks = 600;
    problem.everyone_wants_all = true;
    for (std::uint32_t u = 0; u < problem.nodes; ++u) {
        for (std::uint32_t v = 0; v < problem.nodes; ++v)
            if (u != v) problem.links.push_back({u, v, kRound, kRound});
        for (std::uint32_t c = u; c < problem.chunks; c += problem.nodes)
            problem.holdings.push_back({u, c, 0});
    }
    problem.index_links();
    const Task task(problem);
    CHECK(!is_narrow(task));
    CHECK_TEXT(outcome_of([&] { return run_sweeps(task, {}, Random(3), never, 0); }),
               outcome_of([&] { return run_rounds(task, {}, Random(3), never); }));
    GreedyOptions options;
    options.rule = Rule::kRandom;
    GreedyRun run = run_any_rounds(task, options, Random(3), never);
    run.sends.unpack();
    check_rounds(problem, run.sends);
}

void test_what_has_nothing_to_send_does_not_sweep() {
    Random random(1);
    Problem problem = near_neighbours(random, 9, 1);
    GreedyOptions options;
    CHECK(goes_in_sweeps(Task(problem), options));
    options.tells_last_arrivals = true;
    CHECK(!goes_in_sweeps(Task(problem), options));
    options = {};
    options.by_arrival = true;
    CHECK(!goes_in_sweeps(Task(problem), options));
    for (Holding& held : problem.holdings) held.node = 0;
    CHECK(!goes_in_sweeps(Task(problem), {}));
}

/// A grid whose nodes are named at random: neighbours are about a column of its shorter side apart.
void test_neighbours_are_near_each_other() {
    constexpr std::uint32_t kWide = 30, kHigh = 7;
    Random random(5);
    std::vector<std::uint32_t> names(kWide * kHigh);
    for (std::uint32_t v = 0; v < names.size(); ++v) names[v] = v;
    std::vector<Link> links;
    const auto link_all = [&] {
        links.clear();
        for (std::uint32_t y = 0; y < kHigh; ++y)
            for (std::uint32_t x = 0; x < kWide; ++x) {
                if (x + 1 < kWide) links.push_back({names[y * kWide + x], names[y * kWide + x + 1], 1, 1});
                if (y + 1 < kHigh) links.push_back({names[y * kWide + x], names[(y + 1) * kWide + x], 1, 1});
            }
    };
    link_all();
    CHECK(order_near_neighbours(kWide * kHigh, links).reach <= kHigh + 1);
    random.shuffle(names);
    link_all();
    const NodeOrder order = order_near_neighbours(kWide * kHigh, links);
    CHECK(order.reach <= kHigh + 1);
    std::vector<std::uint8_t> is_there(kWide * kHigh, 0);
    for (const std::uint32_t v : order.nodes) is_there[v] = 1;
    CHECK(order.nodes.size() == names.size() && std::count(is_there.begin(), is_there.end(), 1) == 210);
}

/// Told by a slow walk through the rounds of a run: everyone gets all, from those that have it, once, over
/// links that carry one chunk at a time; no link stays idle that could carry a chunk which its receiver lacks
/// and does not get in the round.
void check_rounds(const Problem& problem, const Columns& sends) {
    std::vector<std::vector<std::uint8_t>> has_chunk(problem.nodes,
                                                     std::vector<std::uint8_t>(problem.chunks, 0));
    for (const Holding& held : problem.holdings) has_chunk[held.node][held.chunk] = 1;
    for (Picoseconds now = 0; now < sends.time; now += kRound) {
        auto after = has_chunk;
        std::vector<std::uint8_t> is_used(problem.links.size(), 0);
        for (std::size_t i = 0; i < sends.size; ++i) {
            if (sends.start[i] != now) continue;
            const Link& link = problem.links[sends.link[i]];
            CHECK(has_chunk[link.from][sends.chunk[i]] && !after[link.to][sends.chunk[i]]);
            CHECK(!is_used[sends.link[i]]);
            is_used[sends.link[i]] = after[link.to][sends.chunk[i]] = 1;
        }
        for (std::size_t l = 0; l < problem.links.size(); ++l)
            for (std::uint32_t c = 0; c < problem.chunks && !is_used[l]; ++c)
                CHECK(!has_chunk[problem.links[l].from][c] || after[problem.links[l].to][c]);
        has_chunk = after;
    }
    for (const auto& chunks : has_chunk) CHECK(std::count(chunks.begin(), chunks.end(), 0) == 0);
}

void test_rounds_of_any_chunks_leave_no_link_idle() {
    const dse::Checkpoint never;
    int complete = 0, given_up = 0, unreachable = 0;
    for (std::uint32_t seed = 0; seed < 400; ++seed) {
        Random random(seed);
        const Problem problem = all_gather(random, 2 + random.below(seed % 10 == 0 ? 60 : 12),
                                           1 + random.below(3), seed % 3 == 0);
        if (problem.links.empty()) continue;
        const Task task(problem);
        GreedyOptions options;
        options.rule = Rule::kRandom;
        CHECK(goes_in_any_rounds(task, options));
        try {
            GreedyRun run = run_any_rounds(task, options, Random(seed), never);
            run.sends.unpack();
            CHECK(run.is_complete && run.sends.size == task.wanted_deliveries);
            check_rounds(problem, run.sends);
            ++complete;
            options.limit = run.sends.time + 1;
            CHECK(run_any_rounds(task, options, Random(seed), never).is_complete);
            if (run.sends.time == 0) continue;
            options.limit = run.sends.time;
            given_up += !run_any_rounds(task, options, Random(seed), never).is_complete;
        } catch (const dse::InputError& error) {
            CHECK(std::string(error.what()).find("topology: no way from NPU ") == 0);
            ++unreachable;
        }
    }
    CHECK(complete > 100 && given_up > 100 && unreachable > 10);
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
    test_sweeps_are_rounds();
    test_sweeps_know_many_chunks();
    test_sweeps_know_many_links();
    test_what_has_nothing_to_send_does_not_sweep();
    test_neighbours_are_near_each_other();
    test_rounds_of_any_chunks_leave_no_link_idle();
    test_only_what_is_alike_goes_in_rounds();
    test_trees_are_packed_into_what_flows_take();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
    std::printf("unexpected exception: %s\n", error.what());
    return 1;
}
