// The hash map, the pool and the event queue against the standard library; closed forms of single collectives
// against the general engine.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/cancellation.hpp"
#include "base/error.hpp"
#include "base/flat_map.hpp"
#include "base/memo.hpp"
#include "base/pool.hpp"
#include "base/time.hpp"
#include "simulation/algorithms/registry.hpp"
#include "simulation/simulators/event_queue.hpp"
#include "simulation/simulators/simulator.hpp"
#include "simulation/workloads/numbers.hpp"
#include "tests/check.hpp"

namespace {

using dse::Cancellation;
using dse::Checkpoint;
using dse::kEndOfTime;
using dse::Time;
using namespace dse::simulator;
using namespace dse::workload;

std::mt19937 generator(1);

std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(generator() % limit); }

template <typename T>
const T& one_of(const std::vector<T>& choices) {
    return choices[below(static_cast<std::uint32_t>(choices.size()))];
}

/// Few hashes, so that clusters are long and wrap around.
struct CrowdedKey {
    std::uint32_t value = 0;
    std::uint64_t hash() const { return ~std::uint64_t{0} - value % 5; }
    bool operator==(const CrowdedKey&) const = default;
};

struct MixedKey {
    std::uint32_t value = 0;
    std::uint64_t hash() const { return dse::mix_bits(value); }
    bool operator==(const MixedKey&) const = default;
};

template <typename Error, typename Action>
bool throws(Action action) {
    try {
        action();
    } catch (const Error&) {
        return true;
    }
    return false;
}

template <typename Key>
void test_flat_map(std::uint32_t keys, int operations) {
    dse::FlatMap<Key, std::uint32_t> map(4);
    std::unordered_map<std::uint32_t, std::uint32_t> expected;
    for (int i = 0; i < operations; ++i) {
        const std::uint32_t key = below(keys);
        switch (below(3)) {
            case 0:
                map[{key}] = expected[key] = below(1000);
                break;
            case 1:
                map.erase({key});
                expected.erase(key);
                break;
            default: {
                const std::uint32_t* found = map.find({key});
                const auto entry = expected.find(key);
                CHECK((found != nullptr) == (entry != expected.end()));
                if (found != nullptr && entry != expected.end()) CHECK(*found == entry->second);
            }
        }
        CHECK(map.size() == expected.size());
    }
    std::unordered_map<std::uint32_t, std::uint32_t> content;
    map.for_each([&](const Key& key, std::uint32_t value) { content.emplace(key.value, value); });
    CHECK(content == expected);
}

void test_pool() {
    dse::Pool<std::string> pool;
    std::map<std::uint32_t, std::string> expected;
    for (int i = 0; i < 2000; ++i) {
        if (below(2) == 0 || expected.empty()) {
            const std::string text = std::to_string(i);
            const std::uint32_t index = pool.add(text);
            CHECK(expected.emplace(index, text).second);  // a place that is not in use
        } else {
            const auto entry =
                std::next(expected.begin(), below(static_cast<std::uint32_t>(expected.size())));
            CHECK(pool[entry->first] == entry->second);
            pool.remove(entry->first);
            expected.erase(entry);
        }
    }
    dse::Pool<std::vector<int>> buffers;
    const std::uint32_t first = buffers.add({1, 2, 3});
    buffers.remove(first);
    CHECK(buffers.acquire() == first);
    CHECK(buffers[first].size() == 3);  // the content stays
    CHECK(buffers.acquire() == first + 1);
}

/// Events come by time, then in order of insertion, also those inserted while their tick runs.
void test_event_queue() {
    const Checkpoint checkpoint;
    EventQueue queue(checkpoint);
    std::set<std::pair<Time, std::uint32_t>> expected;
    std::uint32_t inserted = 0;
    const auto schedule = [&](Time time) {
        queue.schedule(time, {EventKind::kArrival, inserted});
        expected.emplace(time, inserted++);
    };
    for (int i = 0; i < 50; ++i) schedule(1 + below(20));
    Event event{};
    std::uint64_t executed = 0;
    while (queue.pop(event)) {
        CHECK(!expected.empty() && queue.now() == expected.begin()->first);
        CHECK(event.object == expected.begin()->second);
        expected.erase(expected.begin());
        ++executed;
        while (inserted < 5000 && below(5) < 3) schedule(queue.now() + below(3) * below(10));
    }
    CHECK(expected.empty());
    CHECK(queue.executed() == executed);

    EventQueue empty(checkpoint);
    CHECK(!empty.pop(event));
    bool refused = false;
    try {
        empty.schedule(0, {EventKind::kArrival, 0});
    } catch (const dse::SimulationError&) {
        refused = true;
    }
    CHECK(refused);
}

// ---- one collective, by its closed form and packet by packet ----

/// The same collective on every rank: on all of them, or on groups of `size` ranks `stride` apart.
Workload collective(CollectiveType type, std::uint64_t bytes, std::uint32_t ranks, std::uint32_t size,
                    std::uint32_t stride) {
    Node node;
    node.kind = NodeKind::kCollective;
    node.collective = type;
    node.bytes = bytes;
    node.slot = 0;
    Trace trace;
    trace.nodes = {node};
    Workload workload;
    workload.traces = std::make_shared<const std::vector<Trace>>(1, std::move(trace));
    workload.trace_of_rank.resize(ranks);
    workload.lane_of_rank.resize(ranks);
    workload.communicator_of_slot.resize(ranks);
    for (std::uint32_t rank = 0; rank <= ranks; ++rank) workload.slot_begin.push_back(rank);
    for (std::uint32_t first = 0; first < ranks; ++first) {
        if (first / stride % size != 0) continue;
        Communicator group;
        for (std::uint32_t i = 0; i < size; ++i) {
            workload.communicator_of_slot[first + i * stride] =
                static_cast<std::uint32_t>(workload.communicators.size());
            group.members.push_back(first + i * stride);
        }
        workload.communicators.push_back(std::move(group));
    }
    return workload;
}

/// The finish times of all ranks, or the error.
std::string outcome(const Workload& workload, const SystemConfig& config, Method method, bool& by_classes) {
    try {
        const SimulationResult result = simulate(workload, config, method);
        by_classes = result.by_classes;
        std::string text;
        for (const std::uint32_t c : result.class_of_rank) {
            text += std::to_string(result.classes[c].finish_ns) + " ";
        }
        return text;
    } catch (const dse::SimulationError& error) {
        return error.what();
    }
}

SystemConfig random_system(std::uint32_t& ranks) {
    SystemConfig config;
    config.track_memory = false;
    ranks = 1;
    for (std::uint32_t d = below(3); d < 3; ++d) {
        const std::uint32_t npus = one_of<std::uint32_t>({2, 2, 3, 4, 4, 8});
        if (ranks * npus > 32) continue;
        ranks *= npus;
        const std::string topology = one_of<std::string>({"Ring", "FullyConnected", "Switch"});
        config.network.push_back({dse::network::make_shape({topology, npus, {}, {}, {}, 0}),
                                  one_of<double>({0.5, 1, 10, 100}), one_of<double>({1, 10, 50.5})});
        const std::uint32_t names = (npus & (npus - 1)) == 0 ? 3 : 2;
        const std::vector<std::string> algorithms = {"ring", "direct", "halvingDoubling"};
        config.all_reduce.push_back(dse::collectives::algorithm_named(algorithms[below(names)]));
        config.all_gather.push_back(dse::collectives::algorithm_named(algorithms[below(names)]));
        config.reduce_scatter.push_back(dse::collectives::algorithm_named(algorithms[below(names)]));
        config.all_to_all.push_back(dse::collectives::algorithm_named(algorithms[below(2)]));
    }
    config.peak_tflops = 1;
    config.memory_bandwidth_gbps = one_of<double>({0.1, 1, 100});
    config.endpoint_delay_ns = one_of<std::uint64_t>({1, 10, 100});
    config.active_chunks_per_dimension = one_of<std::uint64_t>({1, 2, 4});
    config.preferred_dataset_splits = one_of<std::uint64_t>({1, 3, 10});
    config.optimization = one_of<dse::collectives::Optimization>(
        {dse::collectives::Optimization::kBaseline, dse::collectives::Optimization::kLocalBandwidthAware});
    return config;
}

void test_collectives(int count) {
    int by_form = 0;
    for (int i = 0; i < count; ++i) {
        std::uint32_t ranks = 0;
        const SystemConfig config = random_system(ranks);
        if (ranks == 1) continue;
        std::uint32_t size = ranks, stride = 1;
        if (below(2) == 0) {
            size = config.network.front().npus();
            stride = one_of<std::uint32_t>({1, ranks / size});
        }
        const auto type = one_of<CollectiveType>({CollectiveType::kAllReduce, CollectiveType::kAllGather,
                                                  CollectiveType::kReduceScatter, CollectiveType::kAllToAll});
        const std::uint64_t bytes = one_of<std::uint64_t>({1, 100, 1024, 65536, 100000});
        const Workload workload = collective(type, bytes, ranks, size, stride);
        bool by_classes = false, ignored = false;
        const std::string expected = outcome(workload, config, Method::kGeneral, ignored);
        CHECK(outcome(workload, config, Method::kAuto, by_classes) == expected);
        by_form += by_classes;
    }
    std::printf("%d collectives, %d by closed forms\n", count, by_form);
    CHECK(by_form > count / 2);
}

/// The last ns before the end of time is a time; the end itself, and what wraps around, is not.
void test_end_of_time() {
    const Checkpoint checkpoint;
    EventQueue queue(checkpoint);
    queue.schedule(kEndOfTime - 1, {EventKind::kArrival, 0});
    for (const Time late : {kEndOfTime, kEndOfTime + 1, ~Time{0}}) {
        CHECK(throws<dse::EndOfTimeError>([&] { queue.schedule(late, {EventKind::kArrival, 1}); }));
    }
    Event event{};
    CHECK(queue.pop(event) && queue.now() == 9'007'199'254'740'991);
    CHECK(!queue.pop(event));

    CHECK(dse::whole_ns(1.99) == 1);
    CHECK(dse::whole_ns(9007199254740991.0) == 9'007'199'254'740'991);
    for (const double late : {0x1p53, 0x1p64, 1e300, HUGE_VAL, std::nan("")}) {
        CHECK(dse::whole_ns(late) == kEndOfTime);
    }
    CHECK(dse::in_sequence(3, 7) == 21);
    CHECK(dse::in_sequence(0, kEndOfTime) == 0);
    CHECK(dse::in_sequence(~std::uint64_t{0}, 0) == 0);
    CHECK(dse::in_sequence(std::uint64_t{1} << 40, std::uint64_t{1} << 30) == kEndOfTime);
}

/// Passes of a checkpoint until it throws; `most` if it never does.
template <typename Error>
int passes(const Checkpoint& checkpoint, int most) {
    int count = 0;
    const bool thrown = throws<Error>([&] {
        while (count < most) {
            checkpoint();
            ++count;
        }
    });
    return thrown ? count : most;
}

void test_checkpoints() {
    CHECK(passes<dse::Cancelled>(Checkpoint(), 10'000) == 10'000);

    const Cancellation all;
    const Cancellation late = all.limited_to(-1.0, "too late");
    const Checkpoint of_all{all};
    CHECK(passes<dse::Cancelled>(of_all, 1000) == 1000);
    CHECK(passes<dse::DeadlinePassed>(Checkpoint{late}, 1000) == 255);
    CHECK(throws<dse::DeadlinePassed>([&] { Checkpoint{late}.look(); }));
    CHECK(!throws<dse::DeadlinePassed>([&] { all.limited_to(1e300, "never").check(); }));
    all.cancel();
    CHECK(late.is_cancelled());  // copies share it
    CHECK(passes<dse::Cancelled>(of_all, 1000) < 256);

    int polls = 0;
    const Checkpoint polled(std::nullopt, [&] {
        if (++polls == 2) throw dse::Cancelled();
    });
    while (polls < 1) polled();
    CHECK(passes<dse::Cancelled>(polled, 100) == 100);  // not again within 50 ms
    CHECK(throws<dse::Cancelled>([&] {
        while (true) polled();
    }));
}

/// Values are made once for equal parts, whatever their types, and stay where they are.
void test_memo() {
    dse::Memo<std::vector<double>> memo;
    int made = 0;
    const auto of = [&](int number, const std::vector<double>& values, double last) -> const auto& {
        return memo.of(
            [&] {
                ++made;
                return std::vector<double>(static_cast<std::size_t>(number), last);
            },
            number, values, last);
    };
    const std::vector<double>& first = of(2, {1.0, 2.0}, 3.0);
    CHECK((first == std::vector<double>{3.0, 3.0}));
    for (int number = 3; number < 1000; ++number) of(number, {}, 0.5);
    CHECK(&of(2, {1.0, 2.0}, 3.0) == &first);
    CHECK(made == 998);
    CHECK(&of(2, {1.0}, 2.0) != &first);  // a number more or less is another key
    CHECK(of(1, {1.0, 2.0}, 3.0).size() == 1);
    of(2, {1.0, 2.0}, 0.0);
    of(2, {1.0, 2.0}, -0.0);  // equal, but not to the bit
    CHECK(made == 1002);
    CHECK(memo.size() == 1002);
    CHECK(throws<int>([&] { memo.of([]() -> std::vector<double> { throw 1; }, 7.0); }));
    CHECK(memo.of([] { return std::vector<double>{7.0}; }, 7.0).front() == 7.0);
}

/// The short cut against the text that it stands for, at its borders and at random.
void test_leading_integers(int count) {
    CHECK(leading_integer(0.0) == 0);
    CHECK(leading_integer(0.1) == 0);
    CHECK(leading_integer(1e-5) == 1);  // "1e-05"
    CHECK(leading_integer(9999999999999998.0) == 9999999999999998);
    CHECK(leading_integer(1e16) == 1);
    CHECK(leading_integer(4294967296.5) == 4294967296);
    for (const double border : {1e-4, 1.0, 4503599627370496.0, 9007199254740992.0, 1e16}) {
        for (const double value : {std::nextafter(border, 0.0), border, std::nextafter(border, 1e300)}) {
            CHECK(leading_integer(value) == leading_integer(decimal_text(value)));
        }
    }
    for (int i = 0; i < count; ++i) {
        const double value = std::ldexp(static_cast<double>(generator()), static_cast<int>(below(80)) - 50);
        CHECK(leading_integer(value) == leading_integer(decimal_text(value)));
    }
}

}  // namespace

int main() try {
    test_end_of_time();
    test_leading_integers(100'000);
    test_checkpoints();
    test_flat_map<CrowdedKey>(40, 50'000);
    test_flat_map<MixedKey>(2'000, 100'000);
    test_memo();
    test_pool();
    test_event_queue();
    test_collectives(3'000);
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
    std::printf("unexpected exception: %s\n", error.what());
    return 1;
}
