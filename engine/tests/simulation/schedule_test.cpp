// Schedules of a pipeline: literal stages, and what each step waits for.
#include "simulation/workloads/schedule.hpp"

#include <cstdio>
#include <exception>
#include <string>

#include "tests/check.hpp"

namespace {

using dse::workload::Schedule;
using dse::workload::Step;
using enum Step::Direction;

std::string stages_of(const Schedule& schedule, std::int32_t layers) {
    std::string stages;
    for (std::int32_t layer = 0; layer < layers; ++layer) {
        stages += std::to_string(schedule.stage_of_layer(layer)) + ' ';
    }
    return stages + std::to_string(schedule.stage_of_output_embedding());
}

void test_layers_go_round_robin() {
    const auto schedule = dse::workload::schedule_of(false, 5, 3);
    CHECK_TEXT(stages_of(*schedule, 5), "1 2 0 1 2 0");
    CHECK(!schedule->before({kForward, 0, 4}));
    CHECK(!schedule->before({kBackward, 1, 4}));
}

void test_one_forward_one_backward() {
    const auto schedule = dse::workload::schedule_of(true, 5, 3);
    CHECK_TEXT(stages_of(*schedule, 5), "0 0 1 1 2 2");
    CHECK(!schedule->before({kForward, 0, 2}));
    CHECK(schedule->before({kForward, 0, 3}) == Step({kBackward, 0, 0}));
    CHECK(schedule->before({kForward, 1, 3}) == Step({kBackward, 1, 1}));
    CHECK(schedule->before({kForward, 2, 3}) == Step({kBackward, 2, 2}));
    CHECK(schedule->before({kBackward, 1, 3}) == Step({kForward, 1, 3}));
}

}  // namespace

int main() try {
    test_layers_go_round_robin();
    test_one_forward_one_backward();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
    std::printf("unexpected exception: %s\n", error.what());
    return 1;
}
