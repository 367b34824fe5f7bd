// Rules of the walk over plans, and one walk: literal groups, bounds, shares and counts.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "planner/exact/anytime.hpp"
#include "planner/exact/relaxed.hpp"
#include "planner/walk/groups.hpp"
#include "planner/walk/layer_partitioner.hpp"
#include "planner/walk/rebalance.hpp"
#include "planner/walk/split.hpp"
#include "planner/walk/walk.hpp"
#include "tests/check.hpp"

namespace {

using namespace dse::planner;

template <typename Numbers>
std::string text_of(const Numbers& numbers) {
    std::string text;
    for (const auto number : numbers) text += (text.empty() ? "" : " ") + std::to_string(number);
    return text;
}

std::string groups_of(const GroupRules& rules, std::uint32_t stages) {
    std::string text;
    for_each_groups(rules, stages, [&](Groups groups) {
        text += (text.empty() ? "" : ", ") + text_of(groups);
        return true;
    });
    return text;
}

void test_groups_come_in_the_order_of_prefix_shifts() {
    CHECK_TEXT(groups_of({8, 1, 128}, 3), "4 2 2, 2 4 2, 2 2 4");
    CHECK_TEXT(groups_of({8, 0, 3}, 4), "4 2 1 1, 1 1 4 2, 4 1 1 2, 2 4 1 1, 1 1 2 4, 2 1 1 4, 2 2 2 2");
    CHECK_TEXT(groups_of({32, 1, 128}, 5), "");
    CHECK(!has_groups({24, 1, 128}, 1));
    CHECK(has_groups({32, 1, 128}, 7));
}

/// The ten layers of the tutorial on plans (docs/tutorial_planner.md).
std::vector<double> ten_weights() {
    std::vector<double> weights(10, 0.12463081172581232);
    weights.front() = 0.0012214807407832581;
    weights.back() = 0.0017320254527182226;
    return weights;
}

std::string bounds_of(const std::vector<double>& shares) {
    std::vector<std::uint32_t> bounds;
    LayerPartitioner(ten_weights()).partition(shares, bounds);
    return text_of(bounds);
}

void test_layers_are_divided_by_shares() {
    CHECK_TEXT(bounds_of({0.7777777777777778, 0.2222222222222222}), "0 7 10");
    CHECK_TEXT(bounds_of({1}), "0 10");
    CHECK_TEXT(bounds_of({0.2, 0.2, 0.2, 0.228571, 0.057143, 0.057143, 0.057143}), "0 2 4 6 8 8 8 9");
}

void test_shares_move_to_where_memory_is_left() {
    std::vector<double> shares{0.5, 0.5};
    CHECK(rebalance(shares, std::vector<double>{4, 1}, std::vector<double>{1, 2}));
    CHECK_TEXT(text_of(shares), "0.775000 0.225000");
    CHECK(!rebalance(shares, std::vector<double>{1, 1}, std::vector<double>{2, 2}));
    std::vector<double> many(40, 0.8 / 39);
    many.back() = 0.2;
    std::vector<double> capacity(40, 1 + 0.0009 * 39 / 0.8);
    capacity.back() = 1;
    const std::string error = error_of([&] { rebalance(many, capacity, std::vector<double>(40, 1)); });
    CHECK(error.starts_with("the walk's memory balancing never ends here"));
}

void test_the_rest_of_a_batch_goes_to_the_largest_fractions() {
    CHECK_TEXT(text_of(split_batch(std::vector<double>{1, 1, 1 / 3.5, 1 / 3.5}, 8)), "3 3 1 1");
    CHECK_TEXT(text_of(split_batch(std::vector<double>{1, 1, 1}, 2)), "1 1 0");
    std::string powers;
    for_each_power(13, [&](std::uint64_t power) { powers += std::to_string(power) + ' '; });
    CHECK_TEXT(powers, "8 4 1 ");
}

/// Two hosts of two GPUs, three layers of 1 ms times the batch, 1 MB each; degrees and batches 1, 2 and 4.
Problem small_problem(double memory_mb) {
    Problem problem;
    problem.types = {"A100"};
    problem.memory_mb = {memory_mb};
    problem.hosts.assign(2, {0, 2, 50, 10, 0});
    Profiles& profiles = problem.profiles;
    profiles.layers = 3;
    profiles.degrees = 3;
    profiles.batches = 3;
    profiles.row_of_batch = {kMissing, 0, 1, kMissing, 2};
    for (std::int32_t entry = 0; entry < 9; ++entry) {
        profiles.entry_of.push_back(entry);
        const double layer_ms = static_cast<double>(1 << (entry % 3)) / static_cast<double>(1 << (entry / 3));
        profiles.layer_ms.insert(profiles.layer_ms.end(), 3, layer_ms);
        profiles.layer_memory_mb.insert(profiles.layer_memory_mb.end(), 3, 1);
        profiles.times.push_back({0, 0.5, 1, 0.25});
    }
    profiles.add_up();
    problem.model = {{1.0 / 3, 1.0 / 3, 1.0 / 3}, {1e6, 1e6, 1e6}, 1, 0.25, 4, 8, 16, 32};
    problem.options = {4, 4, 1, 128, true, true, false, 0, 2};
    return problem;
}

void test_a_walk_counts_and_ranks() {
    const WalkResult found = walk(small_problem(100), {false, true, 0}, dse::Checkpoint());
    CHECK_TEXT(text_of(found.table.delta), "2 1 0 2 0 0 1 0 0 1 0 0 1 0 0");
    CHECK(found.count == 8);
    CHECK(found.table.cost_ms[0] == 3 + 2 + 0.5 + 1);  // execution, gap, update, batch generator
    CHECK(found.table.cost_ms[1] == 3 + 1 + 1 + 1.5e6 / (50 * 1048576.0) + 0.5);
    CHECK(found.outer_plans == 15);
    CHECK(found.plans == found.table.size());
    CHECK(found.unpriced == 0);
    const WalkResult best = walk(small_problem(100), {false, false, 2}, dse::Checkpoint());
    CHECK(best.count == found.count);
    CHECK_TEXT(text_of(best.table.index), "1 2");
    CHECK(best.table.cost_ms[0] == *std::min_element(found.table.cost_ms.begin(), found.table.cost_ms.end()));
    CHECK(walk(small_problem(0.1), {true, true, 0}, dse::Checkpoint()).plans == 0);
}

void test_a_missing_profile_is_named() {
    Problem problem = small_problem(100);
    problem.profiles.entry_of[0] = kMissing;
    const std::string error = error_of([&] { walk(problem, {}, dse::Checkpoint()); });
    CHECK(error.starts_with("no profile of A100 tp 1 batch 1, which the walk asks for"));
    problem.hosts.push_back({0, 1, 50, 10, 0});
    CHECK(error_of([&] {
              walk(problem, {}, dse::Checkpoint());
          }).starts_with("the walk takes hosts of one size, but one has 2 GPUs and another 1"));
}

/// The bound of a box whose prices begin at some number.
double bound_at(double price) {
    const Problem problem = small_problem(100);
    std::vector<std::unique_ptr<exact::Ranks>> ranks;
    ranks.push_back(std::make_unique<exact::Ranks>(problem, std::vector<std::uint32_t>{0}));
    exact::LayerTables tables(problem);
    std::vector<double> scratch;
    exact::RelaxedStages relaxed(problem, ranks, exact::best_places(problem, ranks), tables, 1, scratch);
    exact::Box box = relaxed.root(100);
    box.multipliers = {price};
    relaxed.raise(box, 100, 1);
    return box.bound_ms;
}

void test_prices_that_are_no_numbers_prove_nothing() {
    CHECK(bound_at(0) == 3 + 0.5 + 0.25);  // three layers on four GPUs, the gap and the batch generator
    for (const double price : {std::numeric_limits<double>::quiet_NaN(), exact::kInfinite, 1.7e308})
        CHECK(bound_at(price) == 0);
}

void test_a_stopped_search_proves_no_bound_but_has_a_plan() {
    const Problem problem = small_problem(100);
    exact::AnytimeLimits limits;
    limits.stop = [] { return true; };
    const exact::AnytimeResult found = exact::search_anytime(problem, {{0}}, limits);
    CHECK(found.stopped);
    CHECK(found.plans.size() == 1);
    CHECK(found.boxes.size() == 3);  // 4, 2 and 1 micro-batches
    CHECK(found.bound_ms == 0);
}

}  // namespace

int main() try {
    test_groups_come_in_the_order_of_prefix_shifts();
    test_layers_are_divided_by_shares();
    test_shares_move_to_where_memory_is_left();
    test_the_rest_of_a_batch_goes_to_the_largest_fractions();
    test_a_walk_counts_and_ranks();
    test_a_missing_profile_is_named();
    test_prices_that_are_no_numbers_prove_nothing();
    test_a_stopped_search_proves_no_bound_but_has_a_plan();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
    std::printf("unexpected exception: %s\n", error.what());
    return 1;
}
