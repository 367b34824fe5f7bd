// Files of Chakra traces: damaged ones, one of a million nodes, and .et files given as arguments.
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>

#include "simulation/traces/trace_file.hpp"
#include "tests/check.hpp"
#include "tests/traces.hpp"

namespace {

using namespace dse::tests;

/// Reading any bytes ends in a trace that can be written, or in an InputError.
void test_mutations_and_truncations(std::string_view bytes, int rounds) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        error_of([&] { encode_trace(parse_trace(bytes.substr(0, size), "t.et")); });
    }
    std::mt19937 random(1);
    for (int round = 0; round < rounds; ++round) {
        std::string mutated(bytes);
        for (auto edits = random() % 4 + 1; edits > 0; --edits) {
            mutated[random() % mutated.size()] = static_cast<char>(random());
        }
        error_of([&] {
            const TraceFile trace = parse_trace(mutated, "t.et");
            const std::string encoded = encode_trace(trace);
            CHECK(encode_trace(parse_trace(encoded, "t.et")) == encoded);
        });
    }
}

// ---- a million nodes ----

/// The content of a training workload: per node a name, a dependency and six attributes, two of them lists.
std::string encode_large(std::uint32_t count) {
    TraceFile trace;
    trace.storage.push_back(std::make_unique<char[]>(std::size_t{count} * 32));
    trace.metadata = {text("schema", "symbolic_tensor_network")};
    trace.nodes.reserve(count);
    trace.attributes.reserve(std::size_t{6} * count);
    const std::string_view tensor = "transformer_block_17_attention_q@0Batch/dp,Seq/sp,Dmodel/tp";
    for (std::uint32_t i = 0; i < count; ++i) {
        char* name = trace.storage[0].get() + std::size_t{i} * 32;
        const int length = std::snprintf(name, 32, "block_%u_q@0_X1COMM", i);
        if (i > 0) trace.data_deps.push_back(i);
        trace.attributes.push_back(list<std::string_view>("inputs", ValueKind::kStringList, trace.list_items,
                                                          {tensor, "16777216.0"}));
        trace.attributes.push_back(list<std::string_view>("outputs", ValueKind::kStringList, trace.list_items,
                                                          {tensor, "8388608.0"}));
        trace.attributes.push_back(number("comm_size", ValueKind::kInt64, std::int64_t{i} * 4096));
        trace.attributes.push_back(number("comm_type", ValueKind::kInt64, i % 8));
        trace.attributes.push_back(text("pg_name", "12"));
        trace.attributes.push_back(number("is_cpu_op", ValueKind::kInt32, 0));
        add_node(trace, i + 1, {name, static_cast<std::size_t>(length)}, NodeType::kCommCollective);
    }
    return encode_trace(trace);
}

template <class Action>
auto timed(const char* what, std::uint32_t nodes, const Action& action) {
    const auto start = std::chrono::steady_clock::now();
    auto result = action();
    const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
    std::printf("%s: %.0f ns per node\n", what, elapsed.count() / nodes);
    return result;
}

void test_large_file() {
    constexpr std::uint32_t kCount = 1'000'000;
    const std::string bytes = encode_large(kCount);
    std::printf("%u nodes, %zu bytes\n", kCount, bytes.size());
    const auto path =
        std::filesystem::temp_directory_path() / ("chakra_test." + std::to_string(std::random_device()()));
    std::ofstream(path, std::ios::binary) << bytes;
    TraceFile trace = timed("read", kCount, [&] { return read_trace_file(path.string()); });
    std::filesystem::remove(path);

    CHECK(trace.nodes.size() == kCount);
    const Node& last = trace.nodes.back();
    CHECK(last.id == kCount && last.name == "block_999999_q@0_X1COMM");
    CHECK(trace.data_deps_of(last).size() == 1 && trace.data_deps_of(last)[0] == kCount - 1);
    CHECK(trace.attributes_of(last).size() == 6 && trace.attributes_of(last)[2].integer == 999'999 * 4096LL);
    CHECK(timed("write", kCount, [&] { return encode_trace(trace); }) == bytes);
}

void test_round_trip_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const TraceFile trace = read_trace_file(path);
    if (encode_trace(trace) == bytes && same(parse_trace(bytes, path), trace)) return;
    std::printf("%s: written with other bytes than read\n", path.c_str());
    ++failures;
}

}  // namespace

int main(int argc, char** argv) try {
    test_mutations_and_truncations(encode_large(4), 20'000);
    test_large_file();
    for (int i = 1; i < argc; ++i) test_round_trip_of_file(argv[i]);
    std::printf("%d files, %d failures\n", argc - 1, failures);
    return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
    std::printf("unexpected exception: %s\n", error.what());
    return 1;
}
