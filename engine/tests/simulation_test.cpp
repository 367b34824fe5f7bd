// Generates workloads, simulates them with both methods in 8 threads, and compares everything. Then workloads
// made by hand, for each way in which ranks can fail to be symmetric, and recordings.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "chakra/trace_file.hpp"
#include "core/error.hpp"
#include "simulator/simulator.hpp"
#include "simulator/symmetry.hpp"
#include "workload/trace_import.hpp"
#include "workload/transformer.hpp"

namespace {

using namespace dse::simulator;
using namespace dse::workload;
using dse::network::Dimension;
using dse::network::make_shape;

constexpr int kThreads = 8;

int failures = 0;
std::mutex failures_mutex;

void fail(int line, const std::string& text) {
    const std::lock_guard lock(failures_mutex);
    std::printf("%s:%d: %s\n", __FILE__, line, text.c_str());
    ++failures;
}

#define CHECK(condition) \
    if (!(condition)) fail(__LINE__, "CHECK(" #condition ") failed")

#define CHECK_TEXT(got, expected)                                                    \
    if (const std::string text_ = (got), expected_ = (expected); text_ != expected_) \
    fail(__LINE__, "got '" + text_ + "', expected '" + expected_ + "'")

// ---- systems ----

Dimension dimension(const std::string& topology, std::uint32_t npus, double bandwidth, double latency) {
    return {make_shape({topology, npus, {}, {}, {}, 0}), bandwidth, latency};
}

/// Slow enough that the smallest computation takes time.
SystemConfig system_of(std::vector<Dimension> network, const std::string& algorithm) {
    SystemConfig config;
    const std::vector<Algorithm> algorithms(network.size(), algorithm_named(algorithm));
    config.network = std::move(network);
    config.all_reduce = config.all_gather = config.reduce_scatter = algorithms;
    config.all_to_all = std::vector<Algorithm>(config.network.size(), algorithm_named("ring"));
    config.peak_tflops = 0.01;
    config.memory_bandwidth_gbps = 1;
    config.preferred_dataset_splits = 4;
    config.active_chunks_per_dimension = 2;
    return config;
}

/// Systems of 16 NPUs; the second to fifth allow classes.
std::vector<SystemConfig> systems() {
    std::vector<SystemConfig> result;
    result.push_back(system_of({dimension("Switch", 16, 100, 50)}, "doubleBinaryTree"));
    result.push_back(system_of({dimension("Ring", 16, 50, 500)}, "ring"));
    result.push_back(system_of({dimension("Switch", 16, 100, 50)}, "halvingDoubling"));
    result.push_back(system_of({dimension("Ring", 4, 100, 50), dimension("Ring", 4, 100, 50)}, "ring"));
    result.push_back(system_of({dimension("FullyConnected", 4, 100, 10), dimension("Switch", 2, 10, 500),
                                dimension("Ring", 2, 1, 1)},
                               "direct"));
    result.push_back(result.back());
    result.back().queues_per_dimension = 2;
    result.push_back(result.front());
    result.back().rendezvous = true;
    result.push_back(result[3]);
    result.back().congestion_aware = true;
    result.push_back(result[2]);
    result.back().deratings = {{3, 0.5, 0.75}};
    return result;
}

// ---- generated workloads, shared by threads ----

using TransformerPointer = std::shared_ptr<const Transformer>;

std::vector<TransformerPointer> transformers() {
    const ModelSpec model{64, 64, 32, 64, 4, 16, 8, 2};
    const std::vector<StrategySpec> strategies = {
        {16, 1, 1, 1, false, false}, {1, 16, 1, 1, false, true}, {4, 4, 1, 1, false, false},
        {2, 2, 2, 2, true, true},    {1, 2, 2, 4, false, true},  {2, 2, 1, 4, true, false},
    };
    std::vector<TransformerPointer> result;
    for (const StrategySpec& strategy : strategies) {
        result.push_back(std::make_shared<const Transformer>(model, strategy));
    }
    // Shards of less than one element have no operations, and a node without operations never ends.
    const ModelSpec narrow{8, 8, 1, 8, 2, 8, 8, 2};
    result.push_back(std::make_shared<const Transformer>(narrow, StrategySpec{2, 2, 2, 2, false, false}));
    return result;
}

/// Figures of every rank and its class; ranks of imported workloads are each their own class.
std::vector<RankResult> figures_of(const SimulationResult& result) {
    std::vector<RankResult> figures;
    for (const std::uint32_t c : result.class_of_rank) figures.push_back(result.classes[c]);
    return figures;
}

bool same(const SimulationResult& a, const SimulationResult& b) {
    return a.deadlock == b.deadlock && a.class_of_rank == b.class_of_rank && a.classes == b.classes;
}

/// The workload by way of its files.
Workload reimported(const Transformer& transformer, const Workload& workload) {
    std::vector<dse::chakra::TraceFile> files;
    std::vector<std::string> names;
    std::vector<std::string> bytes;
    for (std::uint32_t rank = 0; rank < transformer.rank_count(); ++rank) {
        names.push_back("rank " + std::to_string(rank));
        bytes.push_back(dse::chakra::encode_trace(transformer.trace_file(rank)));
        files.push_back(dse::chakra::parse_trace(bytes.back(), names.back()));
        CHECK(dse::chakra::encode_trace(files.back()) == bytes.back());
    }
    std::vector<NamedGroup> groups;
    for (const Communicator& group : workload.communicators) groups.push_back({group.name, group.members});
    return import_traces(std::move(files), names, groups);
}

/// Everything that threads share.
struct Shared {
    std::vector<TransformerPointer> transformers = ::transformers();
    std::vector<SystemConfig> configs = systems();
    std::vector<Workload> generated, imported;

    Shared() {
        for (const TransformerPointer& transformer : transformers) {
            generated.push_back(generate(transformer));
            imported.push_back(reimported(*transformer, generated.back()));
        }
    }
};

struct Case {
    std::size_t workload, config;
    SimulationResult automatic, general;
};

/// All points, on one thread, with both methods and by way of files.
std::vector<Case> expected_of(const Shared& shared) {
    std::vector<Case> cases;
    int deadlocks = 0, by_classes = 0;
    for (std::size_t w = 0; w < shared.generated.size(); ++w) {
        for (std::size_t c = 0; c < shared.configs.size(); ++c) {
            const SystemConfig& config = shared.configs[c];
            Case point{w, c, simulate(shared.generated[w], config),
                       simulate(shared.generated[w], config, Method::kGeneral)};
            if (!same(point.automatic, point.general)) {
                fail(__LINE__, "methods differ: " + point.automatic.obstacle);
            }
            const SimulationResult imported = simulate(shared.imported[w], config);
            CHECK(!imported.by_classes);
            CHECK(imported.deadlock == point.general.deadlock);
            CHECK(figures_of(imported) == figures_of(point.general));
            deadlocks += point.general.deadlock;
            by_classes += point.automatic.by_classes;
            cases.push_back(std::move(point));
        }
    }
    std::printf("%zu points, %d by classes, %d deadlocks\n", cases.size(), by_classes, deadlocks);
    CHECK(by_classes >= 12);
    CHECK(deadlocks >= 1);
    return cases;
}

/// Does everything, from another point on than the other threads.
void repeat(std::size_t thread, const Shared& shared, const std::vector<Case>& cases) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const Case& point = cases[(i + thread * cases.size() / kThreads) % cases.size()];
        const Workload& workload = shared.generated[point.workload];
        const SystemConfig& config = shared.configs[point.config];
        CHECK(same(simulate(workload, config), point.automatic));
        if (i % 4 != thread % 4) continue;
        CHECK(same(simulate(workload, config, Method::kGeneral), point.general));
        const SimulationResult imported = simulate(shared.imported[point.workload], config);
        CHECK(figures_of(imported) == figures_of(point.general));
    }
    const Workload again = generate(shared.transformers.front());
    CHECK(same(simulate(again, shared.configs.front()), cases.front().automatic));
    CHECK(reimported(*shared.transformers.front(), again).rank_count() == again.rank_count());
}

void test_generated_workloads() {
    const std::vector<Case> cases = expected_of(Shared());
    const Shared fresh;  // nothing has touched it before the threads do
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            try {
                repeat(i, fresh, cases);
            } catch (const std::exception& error) {
                fail(__LINE__, std::string("unexpected exception in a thread: ") + error.what());
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

// ---- workloads made by hand ----

class NoNames : public NodeCatalog {
public:
    std::uint64_t id(std::uint32_t, std::uint32_t node) const override { return node; }
    std::string name(std::uint32_t, std::uint32_t node) const override { return std::to_string(node); }
    std::string tensor_name(std::uint32_t, std::uint32_t tensor) const override {
        return std::to_string(tensor);
    }
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

/// What simulate() could not run at all, or runs into a deadlock, is refused by the search for classes.
std::string refusal(const Workload& workload, const SystemConfig& config) {
    try {
        find_rank_classes(workload, config, dse::network::CongestionUnaware(config.network));
    } catch (const NotSymmetric& obstacle) {
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

void test_errors_are_the_same() {
    const Workload workload = generate(transformers().front());
    SystemConfig config = systems()[1];
    config.preferred_dataset_splits = 1U << 30;
    config.peak_tflops = 1e9;
    config.memory_bandwidth_gbps = 1e9;
    std::string messages[2];
    for (const Method method : {Method::kAuto, Method::kGeneral}) {
        try {
            simulate(workload, config, method);
        } catch (const dse::SimulationError& error) {
            messages[method == Method::kGeneral] = error.what();
        }
    }
    CHECK(!messages[0].empty());
    CHECK_TEXT(messages[0], messages[1]);
}

/// A precondition that does not hold must show in the results, or the comparisons above would prove nothing.
void test_a_wrong_assumption_is_noticed() {
    const Workload workload = generate(transformers()[2]);
    const SystemConfig ring = systems()[1];
    CHECK(
        !same(simulate(workload, ring, Method::kAssumeSymmetry), simulate(workload, ring, Method::kGeneral)));
    CHECK_TEXT(simulate(workload, ring).obstacle, "the ring of group 1 has unequal wires");
}

bool same_nodes(const RankRecording& a, const RankRecording& b) {
    const auto key = [](const RecordedNode& n) {
        return std::tuple(n.node, n.id, n.start_ns, n.end_ns, n.peer, n.peer_node, n.message_ns, n.parents);
    };
    return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                      [&](const RecordedNode& x, const RecordedNode& y) { return key(x) == key(y); });
}

/// All ranks, by classes and one by one: the same times; peaks and ends as the result has them.
void test_recordings() {
    for (const TransformerPointer& transformer : transformers()) {
        const Workload workload = generate(transformer);
        RecordingRequest every_rank;
        for (std::uint32_t rank = 0; rank < workload.rank_count(); ++rank) every_rank.ranks.push_back(rank);
        const SystemConfig config = systems()[2];
        const Recording got = record(workload, config, Method::kAuto, every_rank);
        const Recording truth = record(workload, config, Method::kGeneral, every_rank);
        CHECK(same(got.result, simulate(workload, config)));
        CHECK(got.ranks.size() == workload.rank_count() && truth.ranks.size() == got.ranks.size());
        for (std::size_t i = 0; i < got.ranks.size(); ++i) CHECK(same_nodes(got.ranks[i], truth.ranks[i]));
        const Recording classes = record(workload, config);
        CHECK(classes.ranks.size() == classes.result.classes.size());
    }
    const Workload workload = generate(transformers()[0]);
    try {
        record(workload, systems()[2], Method::kAuto, {{16}, false});
        fail(__LINE__, "rank 16 of 16 was recorded");
    } catch (const dse::InputError& error) {
        CHECK_TEXT(error.what(), "rank 16 cannot be recorded: the workload has 16 ranks");
    }
}

}  // namespace

int main() try {
    test_generated_workloads();
    test_obstacles_of_communicators();
    test_refusals();
    test_finer_classes();
    test_errors_are_the_same();
    test_a_wrong_assumption_is_noticed();
    test_recordings();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
    std::printf("unexpected exception: %s\n", error.what());
    return 1;
}
