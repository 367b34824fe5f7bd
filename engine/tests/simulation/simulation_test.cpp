// Generates workloads, simulates them with both methods in 8 threads, and compares everything; recordings of
// them.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "simulation/traces/trace_file.hpp"
#include "simulation/workloads/trace_import.hpp"
#include "tests/check.hpp"
#include "tests/points.hpp"

namespace {

using namespace dse::tests;

constexpr int kThreads = 8;

/// Figures of every rank.
std::vector<RankResult> figures_of(const SimulationResult& result) {
    std::vector<RankResult> figures;
    for (const std::uint32_t c : result.class_of_rank) figures.push_back(result.classes[c]);
    return figures;
}

/// The workload by way of its files.
Workload reimported(const Transformer& transformer, const Workload& workload) {
    std::vector<std::string> names;
    for (std::uint32_t rank = 0; rank < transformer.rank_count(); ++rank) {
        names.push_back("rank " + std::to_string(rank));
    }
    const auto read = [&](std::uint32_t rank) {
        const std::string bytes = dse::chakra::encode_trace(transformer.trace_file(rank));
        dse::chakra::TraceFile file = dse::chakra::parse_trace(bytes, names[rank]);
        CHECK(dse::chakra::encode_trace(file) == bytes);
        return file;
    };
    std::vector<NamedGroup> groups;
    for (const Communicator& group : workload.communicators) groups.push_back({group.name, group.members});
    return import_traces(read, names, groups);
}

/// Everything that threads share.
struct Shared {
    std::vector<TransformerPointer> transformers = dse::tests::transformers();
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
                fail(__FILE__, __LINE__, "methods differ: " + point.automatic.obstacle);
            }
            const SimulationResult imported = simulate(shared.imported[w], config);
            CHECK(imported.by_classes == point.automatic.by_classes);
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
                fail(__FILE__, __LINE__, std::string("unexpected exception in a thread: ") + error.what());
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

void test_errors_are_the_same() {
    const Workload workload = generate(transformers().front());
    SystemConfig config = systems()[1];
    config.preferred_dataset_splits = 1U << 16;
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
        const Workload imported = reimported(*transformer, workload);
        const Recording read = record(imported, config, Method::kAuto, every_rank);
        CHECK(read.result.by_classes == got.result.by_classes);
        for (std::size_t i = 0; i < read.ranks.size(); ++i) CHECK(same_nodes(read.ranks[i], truth.ranks[i]));
        const Recording classes = record(workload, config);
        CHECK(classes.ranks.size() == classes.result.classes.size());
    }
    const Workload workload = generate(transformers()[0]);
    try {
        record(workload, systems()[2], Method::kAuto, {{16}, false});
        fail(__FILE__, __LINE__, "rank 16 of 16 was recorded");
    } catch (const dse::InputError& error) {
        CHECK_TEXT(error.what(), "rank 16 cannot be recorded: the workload has 16 ranks");
    }
}

}  // namespace

int main() try {
    test_generated_workloads();
    test_errors_are_the_same();
    test_recordings();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
    std::printf("unexpected exception: %s\n", error.what());
    return 1;
}
