// Recorded steps played again: times by hand, circles, refusals, and a million nodes in one pass.
#include <string>
#include <vector>

#include "simulation/replay/replay.hpp"
#include "tests/check.hpp"

namespace {

using dse::recorded::path_to;
using dse::recorded::replayed;
using dse::recorded::StepColumns;
using dse::recorded::StepTimes;
using Numbers = std::vector<std::int64_t>;

/// Columns that a step of the engine points into. Flags are bytes, since a vector of bool has no array.
struct Recorded {
    std::vector<std::int32_t> lane;
    Numbers duration_ns, gap_ns, before_first, before;
    std::vector<std::int32_t> communication;
    std::vector<unsigned char> waits;
    std::size_t lanes = 0, communications = 0;

    std::span<const bool> flags() const {
        return {reinterpret_cast<const bool*>(waits.data()), waits.size()};
    }
    StepColumns columns() const {
        return {lane,          duration_ns, gap_ns, before_first,  before,
                communication, flags(),     lanes,  communications};
    }
};

/// Two ranks of one lane each: work, then a collective for which the second rank is late.
Recorded two_ranks() {
    return {{0, 0, 1, 1},
            {5, 7, 9, 7},
            {1, 0, 0, 2},
            {0, 0, 1, 1, 2},
            {0, 2},
            {-1, 0, -1, 0},
            {0, 1, 0, 1},
            2,
            1};
}

void test_a_collective_begins_when_the_last_rank_is_there() {
    const StepTimes times = replayed(two_ranks().columns());
    CHECK((times.start_ns == Numbers{1, 6, 0, 11}));
    CHECK((times.run_ns == Numbers{1, 11, 0, 11}));
    CHECK((times.end_ns == Numbers{6, 18, 9, 18}));
    CHECK((times.after == Numbers{-1, 0, -1, 2}));
    CHECK((times.last == Numbers{3}));
    CHECK((times.order == Numbers{0, 2, 1, 3}));
    CHECK(times.circle.empty());
}

void test_a_message_that_does_not_wait_leaves_its_sender_alone() {
    Recorded step = two_ranks();
    step.waits = {0, 0, 0, 1};
    const StepTimes times = replayed(step.columns());
    CHECK((times.run_ns == Numbers{1, 6, 0, 11}));
    CHECK((times.end_ns == Numbers{6, 13, 9, 18}));
}

void test_the_path_goes_over_the_rank_that_was_late() {
    const Recorded step = two_ranks();
    const StepTimes times = replayed(step.columns());
    CHECK((path_to(1, times.after, times.last, step.communication, step.flags(), true) == Numbers{1, 3, 2}));
    CHECK((path_to(1, times.after, times.last, step.communication, step.flags(), false) == Numbers{1, 0}));
}

/// Two collectives in other orders on two ranks: each waits for the one behind the other.
void test_crossed_collectives_are_a_circle() {
    const Recorded step{
        {0, 0, 1, 1}, {1, 1, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0, 0}, {}, {0, 1, 1, 0}, {1, 1, 1, 1}, 2, 2};
    const StepTimes times = replayed(step.columns());
    CHECK(times.order.empty());
    CHECK((times.circle == Numbers{0, 3, 2, 1}));
    CHECK((times.start_ns == Numbers{0, -1, 0, -1}));
    CHECK((times.last == Numbers{-1, -1}));
}

void test_a_node_before_itself_is_a_circle() {
    Recorded step = two_ranks();
    step.before_first = {0, 1, 2, 2, 3};
    step.before = {0, 0, 2};
    const StepTimes times = replayed(step.columns());
    CHECK((times.circle == Numbers{0}));
    CHECK((times.order == Numbers{2}));
}

std::string refusal(void (*change)(Recorded&)) {
    Recorded step = two_ranks();
    change(step);
    return error_of([&] { replayed(step.columns()); });
}

void test_refusals() {
    CHECK_TEXT(refusal([](Recorded& step) { step.lane[2] = 2; }),
               "recorded step: lane[2] is 2; it must be from 0 to 1");
    CHECK_TEXT(refusal([](Recorded& step) { step.before[1] = 4; }),
               "recorded step: before[1] is 4; it must be from 0 to 3");
    CHECK_TEXT(refusal([](Recorded& step) { step.before[0] = -1; }),
               "recorded step: before[0] is -1; it must be from 0 to 3");
    CHECK_TEXT(refusal([](Recorded& step) { step.communication[0] = -2; }),
               "recorded step: communication[0] is -2; it must be from -1 to 0");
    CHECK_TEXT(refusal([](Recorded& step) { step.gap_ns[3] = -5; }),
               "recorded step: gap_ns[3] is -5; it must be from 0 to 9223372036854775807");
    CHECK_TEXT(refusal([](Recorded& step) { step.waits.pop_back(); }),
               "recorded step: waits has 3 numbers; it must have 4");
    CHECK_TEXT(refusal([](Recorded& step) { step.before_first = {0, 1, 0, 1, 2}; }),
               "recorded step: before_first must ascend from 0 to the number of edges, 2");
    CHECK_TEXT(refusal([](Recorded& step) { step.duration_ns[0] = INT64_MAX; }),
               "recorded step: durations and gaps add up to more than 2^63 ns");
    const Recorded step = two_ranks();
    const Numbers round{1, 0, -1, -1}, last{3};
    CHECK_TEXT(error_of([&] { path_to(0, round, last, step.communication, step.flags(), false); }),
               "recorded step: after and last lead in a circle");
    CHECK_TEXT(error_of([&] { path_to(4, round, last, step.communication, step.flags(), false); }),
               "recorded step: node[0] is 4; it must be from 0 to 3");
}

void test_an_empty_step_has_no_times() {
    Recorded step;
    step.before_first = {0};
    CHECK(replayed(step.columns()).order.empty());
}

/// One chain over two lanes, so that each node waits for the one before it, and a collective at the end.
void test_a_million_nodes() {
    constexpr std::size_t nodes = 1'000'000;
    Recorded step;
    step.lanes = 2;
    step.before_first = {0};
    for (std::size_t node = 0; node < nodes; ++node) {
        step.lane.push_back(static_cast<std::int32_t>(node % 2));
        if (node > 0) step.before.push_back(static_cast<std::int64_t>(node) - 1);
        step.before_first.push_back(static_cast<std::int64_t>(step.before.size()));
    }
    step.duration_ns.assign(nodes, 3);
    step.gap_ns.assign(nodes, 1);
    step.communication.assign(nodes, -1);
    step.waits.assign(nodes, 0);
    const StepTimes times = replayed(step.columns());
    CHECK(times.end_ns.back() == 4'000'000);
    CHECK(path_to(nodes - 1, times.after, times.last, step.communication, step.flags(), true).size() ==
          nodes);
}

}  // namespace

int main() try {
    test_a_collective_begins_when_the_last_rank_is_there();
    test_a_message_that_does_not_wait_leaves_its_sender_alone();
    test_the_path_goes_over_the_rank_that_was_late();
    test_crossed_collectives_are_a_circle();
    test_a_node_before_itself_is_a_circle();
    test_refusals();
    test_an_empty_step_has_no_times();
    test_a_million_nodes();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
    std::printf("unexpected exception: %s\n", error.what());
    return 1;
}
