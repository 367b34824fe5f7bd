// Workloads made by hand, for each way in which ranks can fail to be symmetric.
#include "simulation/simulators/symmetry.hpp"

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "tests/check.hpp"
#include "tests/points.hpp"

namespace {

using namespace dse::tests;

class NoNames : public NodeCatalog {
public:
    std::uint64_t id(std::uint32_t, std::uint32_t node) const override { return node; }
    std::string name(std::uint32_t, std::uint32_t node) const override { return std::to_string(node); }
    std::string tensor_name(std::uint32_t, std::uint32_t tensor) const override {
        return std::to_string(tensor);
    }
    std::size_t memory_bytes() const override { return 0; }
};

Node computation(double operations) {
    Node node;
    node.kind = NodeKind::kCompute;
    node.num_ops = operations;
    node.bytes = 64;
    return node;
}

Node all_reduce(std::uint32_t slot, std::uint64_t bytes) {
    Node node;
    node.kind = NodeKind::kCollective;
    node.slot = slot;
    node.bytes = bytes;
    return node;
}

Node send(std::uint32_t peer) {
    Node node;
    node.kind = NodeKind::kSend;
    node.peer = peer;
    node.bytes = 1000;
    return node;
}

/// Nodes one after the other.
Trace chain(std::vector<Node> nodes) {
    Trace trace;
    trace.nodes = std::move(nodes);
    for (std::uint32_t i = 0; i < trace.nodes.size(); ++i) {
        trace.nodes[i].wait_count = i > 0;
        trace.nodes[i].child_begin = static_cast<std::uint32_t>(trace.children.size());
        if (i + 1 < trace.nodes.size()) trace.children.push_back(i + 1);
        trace.nodes[i].child_end = static_cast<std::uint32_t>(trace.children.size());
    }
    return trace;
}

/// `slots` lists the communicator of each slot, rank by rank.
Workload by_hand(std::vector<Trace> traces, std::vector<std::uint32_t> trace_of_rank,
                 std::vector<Communicator> communicators,
                 const std::vector<std::vector<std::uint32_t>>& slots) {
    Workload workload;
    workload.traces = std::make_shared<const std::vector<Trace>>(std::move(traces));
    workload.lane_of_rank.resize(trace_of_rank.size());
    workload.trace_of_rank = std::move(trace_of_rank);
    workload.communicators = std::move(communicators);
    workload.slot_begin.push_back(0);
    for (const auto& of_rank : slots) {
        workload.communicator_of_slot.insert(workload.communicator_of_slot.end(), of_rank.begin(),
                                             of_rank.end());
        workload.slot_begin.push_back(static_cast<std::uint32_t>(workload.communicator_of_slot.size()));
    }
    workload.slot_begin.resize(workload.trace_of_rank.size() + 1, workload.slot_begin.back());
    workload.catalog = std::make_shared<NoNames>();
    return workload;
}

Communicator group(const std::string& name, std::vector<std::uint32_t> members) {
    return {name, std::move(members), false, 0};
}

SystemConfig switch_of(std::uint32_t npus) {
    SystemConfig config = system_of({dimension("Switch", npus, 100, 50)}, "ring");
    config.track_memory = false;
    return config;
}

/// Both methods agree; returns why ranks were not simulated by classes, "" if they were.
std::string obstacle_of(const Workload& workload, const SystemConfig& config) {
    const SimulationResult automatic = simulate(workload, config);
    const SimulationResult general = simulate(workload, config, Method::kGeneral);
    CHECK(same(automatic, general));
    CHECK(!general.deadlock);
    CHECK(automatic.by_classes == automatic.obstacle.empty());
    return automatic.obstacle;
}

void test_obstacles_of_communicators() {
    const Trace one = chain({computation(1000), all_reduce(0, 4096), computation(1000)});
    const Trace two = chain({all_reduce(0, 4096), all_reduce(1, 4096)});
    const std::vector<std::uint32_t> same4(4, 0), same8(8, 0);
    const SystemConfig four = switch_of(4), eight = switch_of(8);
    const std::vector<Communicator> halves = {group("a", {0, 1}), group("b", {2, 3})};
    const std::vector<std::vector<std::uint32_t>> in_halves = {{0}, {0}, {1}, {1}};

    CHECK_TEXT(obstacle_of(by_hand({one}, same4, halves, in_halves), four), "");
    const std::vector<Communicator> mixed = {group("a", {0, 1}), group("b", {3, 2})};
    CHECK_TEXT(obstacle_of(by_hand({one}, same4, mixed, in_halves), four),
               "group b is not an axis of the ranks");
    CHECK_TEXT(obstacle_of(by_hand({one}, same4, halves, {{0}, {0}, {1, 1}, {1}}), four),
               "ranks have different communicators");
    CHECK_TEXT(obstacle_of(by_hand({one}, same4, {{"", {}, true, 1}}, {{0}, {0}, {0}, {0}}), four),
               "communicators by dimension");
    const std::vector<Communicator> strides = {group("a", {0, 1}), group("b", {2, 3}), group("c", {4, 6}),
                                               group("d", {5, 7})};
    CHECK_TEXT(obstacle_of(by_hand({one}, same8, strides, {{0}, {0}, {1}, {1}, {2}, {3}, {2}, {3}}), eight),
               "groups of one axis differ in stride or size");
    const std::vector<Communicator> with_all = {group("a", {0, 1}), group("b", {2, 3}), group("all", {})};
    CHECK_TEXT(obstacle_of(by_hand({two}, same4, with_all, {{0, 2}, {0, 2}, {1, 2}, {1, 2}}), four),
               "a group of all ranks besides others");
    CHECK_TEXT(obstacle_of(by_hand({two}, same4, halves, {{0, 0}, {0, 0}, {1, 1}, {1, 1}}), four),
               "groups of different axes may share two ranks");
}

/// The search for classes refuses what simulate() could not run at all, or runs into a deadlock.
std::string refusal(const Workload& workload, const SystemConfig& config) {
    try {
        find_rank_classes(workload, config, dse::network::CongestionUnaware(config.network));
    } catch (const dse::NotSymmetric& obstacle) {
        return obstacle.what();
    }
    return "none";
}

void test_refusals() {
    const Trace one = chain({all_reduce(0, 4096)});
    const Trace other = chain({computation(5000), all_reduce(0, 4096)});
    const SystemConfig four = switch_of(4);
    const std::vector<Communicator> halves = {group("a", {0, 1}), group("b", {2, 3})};
    CHECK_TEXT(refusal(by_hand({one}, {0, 0, 0, 0}, halves, {{0}, {0}, {1}, {kNoSlot}}), four),
               "a rank without its group");
    CHECK_TEXT(obstacle_of(by_hand({one, other}, {0, 1, 0, 1}, halves, {{0}, {0}, {1}, {1}}), four),
               "group a has ranks of several classes");
    const std::vector<std::vector<std::uint32_t>> in_all = {{0}, {0}, {0}, {0}};
    CHECK_TEXT(obstacle_of(by_hand({one, other}, {0, 1, 0, 1}, {group("", {})}, in_all), four),
               "a group of all ranks has several classes");
}

/// Ranks with one trace whose messages go different distances.
///
/// Generated workloads never split like this: there the distance to a peer is that of the stages.
void test_finer_classes() {
    Workload workload = by_hand({chain({computation(1000), send(4)}), chain({computation(700)})},
                                {0, 0, 0, 0, 1, 1, 1, 1}, {}, {});
    workload.lane_of_rank = {0, 1, 3, 2, 0, 1, 2, 3};  // rank 2 sends to 7, rank 3 to 6
    SystemConfig config = system_of({dimension("Ring", 8, 100, 50)}, "ring");
    config.track_memory = false;
    const RankClasses classes =
        find_rank_classes(workload, config, dse::network::CongestionUnaware(config.network));
    CHECK((classes.class_of_rank == std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2, 2, 2}));
    CHECK_TEXT(obstacle_of(workload, config), "");
    const SimulationResult result = simulate(workload, config);
    CHECK((result.class_of_rank == std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2, 2, 2}));
    CHECK(result.classes[0].finish_ns == result.classes[1].finish_ns + 50);
}

/// A precondition that does not hold must show in the results, or the comparisons above would prove nothing.
void test_a_wrong_assumption_is_noticed() {
    const Workload workload = generate(transformers()[2]);
    const SystemConfig ring = systems()[1];
    CHECK(
        !same(simulate(workload, ring, Method::kAssumeSymmetry), simulate(workload, ring, Method::kGeneral)));
    CHECK_TEXT(simulate(workload, ring).obstacle, "the ring of group 1 has unequal wires");
}

}  // namespace

int main() try {
    test_obstacles_of_communicators();
    test_refusals();
    test_finer_classes();
    test_a_wrong_assumption_is_noticed();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
    std::printf("unexpected exception: %s\n", error.what());
    return 1;
}
