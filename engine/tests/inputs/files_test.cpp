// Readers of configuration files: literal good files, and one test per class of errors.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "inputs/files/csv_graph.hpp"
#include "inputs/files/json.hpp"
#include "inputs/files/text.hpp"
#include "inputs/files/yaml.hpp"
#include "simulation/systems/system_files.hpp"
#include "tests/check.hpp"

namespace {

using namespace dse::config;

std::string json_error(const std::string& text) {
    return error_of([&] { parse_json(text, "f"); });
}
std::string yaml_error(const std::string& text) {
    return error_of([&] { parse_yaml(text, "f"); });
}
std::string graph_error(const std::string& text) {
    return error_of([&] { parse_graph(text, "f"); });
}
std::string routes_error(const std::string& text) {
    return error_of([&] { parse_routes(text, "f"); });
}
std::string system_error(const std::string& text) {
    return error_of([&] { parse_system(text, "f"); });
}
std::string network_error(const std::string& text) {
    return error_of([&] { parse_network(text, "f"); });
}
std::string memory_error(const std::string& text) {
    return error_of([&] { parse_remote_memory(text, "f"); });
}
std::string groups_error(const std::string& text) {
    return error_of([&] { parse_groups(text, "f"); });
}

void test_json() {
    const JsonValue value = parse_json(
        " {\"a\": [1, -2.5e1, true, false, null], \"\\u00e9\\ud83d\\ude00\\n\": {\"b\": \"\"}, \"c\": "
        "1e400}\n",
        "f");
    CHECK(value.kind == JsonKind::kObject && value.members.size() == 3);
    const JsonValue& list = *value.find("a");
    CHECK(list.items.size() == 5 && list.items[0].kind == JsonKind::kInteger && list.items[0].number == 1);
    CHECK(list.items[1].kind == JsonKind::kReal && list.items[1].number == -25);
    CHECK(list.items[2].boolean && !list.items[3].boolean && list.items[4].kind == JsonKind::kNull);
    CHECK_TEXT(value.members[1].key, "\xc3\xa9\xf0\x9f\x98\x80\n");
    CHECK(value.find("c")->number > 1e308 && value.find("d") == nullptr);
    CHECK_TEXT(to_text(list), "[1, -2.5e1, true, false, null]");
    CHECK_TEXT(to_text(value.members[1].value), "{\"b\": \"\"}");
}

void test_json_errors() {
    const std::string at = "f: malformed JSON at line ";
    CHECK_TEXT(json_error(""), at + "1, column 1: a value is missing");
    CHECK_TEXT(json_error("{\"a\": 1,\n \"b\" 2}"), at + "2, column 6: expected ':' after the key");
    CHECK_TEXT(json_error("{\"a\": 1,}"), at + "1, column 9: expected a key in double quotes");
    CHECK_TEXT(json_error("{a: 1}"), at + "1, column 2: expected a key in double quotes");
    CHECK_TEXT(json_error("{\"a\": 1"), at + "1, column 8: expected ',' or '}'");
    CHECK_TEXT(json_error("[1 2]"), at + "1, column 4: expected ',' or ']'");
    CHECK_TEXT(json_error("[1,]"), at + "1, column 4: expected a value");
    CHECK_TEXT(json_error("{}\n{}"), at + "2, column 1: nothing may follow the value");
    CHECK_TEXT(json_error("01"), at + "1, column 2: nothing may follow the value");
    CHECK_TEXT(json_error("-"), at + "1, column 2: expected a digit");
    CHECK_TEXT(json_error("1."), at + "1, column 3: expected a digit after the point");
    CHECK_TEXT(json_error("1e+"), at + "1, column 4: expected a digit in the exponent");
    CHECK_TEXT(json_error("\"ab"), at + "1, column 1: the string has no end");
    CHECK_TEXT(json_error("\"a\nb\""), at + "1, column 3: a control character in a string");
    CHECK_TEXT(json_error("\"\\x\""), at + "1, column 3: an unknown escape in a string");
    CHECK_TEXT(json_error("\"\\u12\""), at + "1, column 6: \\u needs four hexadecimal digits");
    CHECK_TEXT(json_error("\"\\ud800\""), at + "1, column 8: half a surrogate pair in a string");
    CHECK_TEXT(json_error("\"\\ud800\\u0041\""), at + "1, column 14: half a surrogate pair in a string");
    CHECK_TEXT(json_error(std::string(200, '[')), at + "1, column 102: more than 100 levels");
    CHECK_TEXT(json_error("[NaN]"), "f: NaN (line 1, column 2) is not a JSON number; numbers must be finite");
    CHECK_TEXT(json_error("-Infinity"),
               "f: -Infinity (line 1, column 1) is not a JSON number; numbers must be finite");
    CHECK_TEXT(json_error("{\"a\": 1,\n\"a\": 2}"),
               "f: a occurs twice (line 2, column 1); every key is allowed once");
    CHECK_TEXT(json_error("\"a\xff\""), "f: is not UTF-8 text (byte 2)");
    CHECK_TEXT(error_of([] { parse_json_object("[]", "f"); }),
               "f: holds a list; it must hold a JSON object {...}");
    CHECK_TEXT(error_of([] { read_text_file("/no/such/file"); }),
               "/no/such/file: cannot be read: No such file or directory");
    CHECK_TEXT(error_of([] { read_text_file("/"); }), "/: cannot be read: Is a directory");
}

void test_yaml() {
    const YamlMapping mapping = parse_yaml(
        "# a network\n---\ntopology: [ Ring, 'it''s', \"a\\\"\\u00e9\" ] # comment\nnpus_count:\n  - 4\n"
        "  - [4, [2]]\n\nlatency:\n- 1.5 # ns\nshape: [[4,\n   4], # first\n  []]\r\nname: a b#c:d "
        "\nempty:\n",
        "f");
    CHECK(mapping.size() == 6);
    CHECK_TEXT(to_text(*find(mapping, "topology")), "['Ring', 'it's', 'a\"\xc3\xa9']");
    CHECK_TEXT(to_text(*find(mapping, "npus_count")), "['4', ['4', ['2']]]");
    CHECK_TEXT(to_text(*find(mapping, "latency")), "['1.5']");
    CHECK_TEXT(to_text(*find(mapping, "shape")), "[['4', '4'], []]");
    CHECK_TEXT(to_text(*find(mapping, "name")), "a b#c:d");
    CHECK(!find(mapping, "empty")->is_list && find(mapping, "empty")->text.empty());
    CHECK(find(mapping, "shape")->line == 10 && find(mapping, "other") == nullptr);
}

void test_yaml_errors() {
    const std::string at = "f: malformed YAML at line ";
    CHECK_TEXT(yaml_error(""), "f: must hold a YAML mapping of keys to lists");
    CHECK_TEXT(yaml_error("# nothing\n"), "f: must hold a YAML mapping of keys to lists");
    CHECK_TEXT(yaml_error("a: 1\nb: 2\na: 3\n"), "f: a occurs twice (line 3); every key is allowed once");
    CHECK_TEXT(yaml_error("- a\n"), at + "1, column 1: expected a key");
    CHECK_TEXT(yaml_error("a\n"), at + "1, column 2: expected ': ' after the key");
    CHECK_TEXT(yaml_error("a:1\n"), at + "1, column 4: expected ': ' after the key");
    CHECK_TEXT(yaml_error("a: [1, 2\n"), at + "2, column 1: the list has no ']'");
    CHECK_TEXT(yaml_error("a: [1 # x\n 2]"), at + "2, column 2: expected ',' or ']'");
    CHECK_TEXT(yaml_error("a: [1,,2]\n"), at + "1, column 7: expected a text, a number or a list [...]");
    CHECK_TEXT(yaml_error("a: [1] 2\n"), at + "1, column 8: expected the end of the line");
    CHECK_TEXT(yaml_error("a: {b: 1}\n"), at + "1, column 4: expected a text, a number or a list [...]");
    CHECK_TEXT(yaml_error("a: &x 1\n"), at + "1, column 4: expected a text, a number or a list [...]");
    CHECK_TEXT(yaml_error("a: b: c\n"), at + "1, column 5: a mapping is not expected here");
    CHECK_TEXT(yaml_error("a: [b: c]\n"), at + "1, column 6: a mapping is not expected here");
    CHECK_TEXT(yaml_error("a:\n  b: c\n"),
               at + "2, column 3: the line is indented, but no value is expected there");
    CHECK_TEXT(yaml_error("a:\n  - 1\n - 2\n"), at + "3, column 2: items of a list must be indented alike");
    CHECK_TEXT(yaml_error("a:\n  -\n"), at + "2, column 4: an item of a list is empty");
    CHECK_TEXT(yaml_error("a:\n  - - 1\n"), at + "2, column 5: write a nested list in brackets");
    CHECK_TEXT(yaml_error("a:\n\t- 1\n"), at + "2, column 2: a tab cannot indent");
    CHECK_TEXT(yaml_error("a: 'b\n"), at + "1, column 6: the quoted text has no end in its line");
    CHECK_TEXT(yaml_error("a: \"\\q\"\n"), at + "1, column 6: an unknown escape");
    CHECK_TEXT(yaml_error("a: \"\\x4\"\n"), at + "1, column 8: expected a hexadecimal digit");
    CHECK_TEXT(yaml_error("a: \"\\ud800\"\n"), at + "1, column 11: half a surrogate pair");
    CHECK_TEXT(yaml_error("a: [[[[[[[[[1]]]]]]]]]\n"), at + "1, column 12: lists are nested too deeply");
    CHECK_TEXT(yaml_error("a: \xc3\n"), "f: is not UTF-8 text (byte 3)");
}

void test_graph() {
    const CsvGraph graph = parse_graph(
        "3\r\nSrc,Dest,Latency (ns),\"Bandwidth (GB/s)\"\r\n0,1,500,50\n\n 1 , 2 ,0.5,\"1e2\"", "f");
    CHECK(graph.devices == 3 && graph.edges.size() == 2);
    CHECK(graph.edges[1].from == 1 && graph.edges[1].to == 2);
    CHECK(graph.edges[1].latency_ns == 0.5 && graph.edges[1].bytes_per_ns == 100);
    const auto routes = parse_routes("Src, Dest,Via\n0,2,1\n0,1,\n", "f");
    CHECK(routes.size() == 2 && routes[0].devices.size() == 2 && routes[0].devices[1] == 2);
    CHECK(routes[1].devices.size() == 1 && routes[1].devices[0] == 1);
}

void test_graph_errors() {
    const std::string head = "4\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n";
    CHECK_TEXT(graph_error(""), "f, line 1: expected the number of nodes, then a header line");
    CHECK_TEXT(graph_error("4\n"), "f, line 1: expected the number of nodes, then a header line");
    CHECK_TEXT(graph_error("1\nh"), "f, line 1: the number of nodes is '1'; expected 2 to 1048576");
    CHECK_TEXT(graph_error("4\n0,1,5,5\n"),
               "f, line 2: is '0,1,5,5'; expected the header Src,Dest,Latency (ns),Bandwidth (GB/s)");
    CHECK_TEXT(graph_error(head + "0,1,5\n"),
               "f, line 3: has 3 fields; expected 4: Src,Dest,Latency (ns),Bandwidth (GB/s)");
    CHECK_TEXT(graph_error(head + "0,4,5,5\n"), "f, line 3: Dest is '4'; expected 0 to 3");
    CHECK_TEXT(graph_error(head + "-1,3,5,5\n"), "f, line 3: Src is '-1'; expected 0 to 3");
    CHECK_TEXT(graph_error(head + "2,2,5,5\n"), "f, line 3: links node 2 to itself");
    CHECK_TEXT(graph_error(head + "0,1,x,5\n"), "f, line 3: latency is 'x'; expected a number");
    CHECK_TEXT(graph_error(head + "0,1,5,1e999\n"), "f, line 3: bandwidth is '1e999'; expected a number");
    CHECK_TEXT(
        graph_error(head + "0,1,5,0\n"),
        "f, line 3: latency is 5 and bandwidth 0; the latency must be at least 0, the bandwidth above 0");
    CHECK_TEXT(graph_error(head + "0,1,5,5\n1,0,5,5\n0,1,6,6\n"),
               "f, line 5: the link 0 to 1 occurs twice; add the bandwidths of parallel links");
    CHECK_TEXT(graph_error(head + "\"0\"1,1,5,5\n"),
               "f, line 3: a quoted field must end before a comma or the end of the line");
    CHECK_TEXT(routes_error("Src,Dest\n"), "f, line 1: expected the header Src,Dest,Via");
    CHECK_TEXT(routes_error("Src,Dest,Via\n0,1\n"), "f, line 2: has 2 fields; expected Src,Dest,Via");
    CHECK_TEXT(routes_error("Src,Dest,Via\n0,1,x\n"), "f, line 2: Via is 'x'; expected 0 to 1048576");
    CHECK_TEXT(routes_error("Src,Dest,Via\n0,1,\n0,1,2\n"), "f, line 3: the route from 0 to 1 occurs twice");
}

/// A good system file with a key more.
std::string system_with(const std::string& entry) {
    return "{\"scheduling-policy\": \"LIFO\", \"preferred-dataset-splits\": 4, \"collective-optimization\": "
           "\"baseline\"" +
           (entry.empty() ? "" : ", " + entry) + "}";
}

void test_system() {
    const SystemFile file = parse_system(
        system_with(
            "\"endpoint-delay\": 12.9, \"active-chunks-per-dimension\": 2, \"all-reduce-implementation\": "
            "[\"ring\", \"oneDirect3\"], \"peak-perf\": 900, \"local-mem-bw\": 1.5e3, \"roofline-enabled\": "
            "1, \"track-local-mem\": 2, \"trace-enabled\": 1, \"boost-mode\": 0, \"L\": \"x\""),
        "f");
    CHECK(file.config.endpoint_delay_ns == 12 && file.states_endpoint_delay && file.trace_enabled);
    CHECK(file.config.active_chunks_per_dimension == 2 && file.config.preferred_dataset_splits == 4);
    CHECK(file.config.all_reduce.size() == 2 && file.config.all_reduce[1].window == 3);
    CHECK(file.config.all_reduce[1].over_all_ranks && file.config.all_gather.empty());
    CHECK(file.config.peak_tflops == 900 && file.config.memory_bandwidth_gbps == 1500);
    CHECK(file.config.roofline && file.config.track_memory && !file.config.replay_only);
    const SystemFile defaults = parse_system(system_with(""), "f");
    CHECK(defaults.config.endpoint_delay_ns == 10 && !defaults.states_endpoint_delay);
    CHECK(!defaults.config.roofline && !defaults.config.track_memory && !defaults.trace_enabled);
}

void test_system_errors() {
    const auto error = [](const std::string& entry) { return system_error(system_with(entry)); };
    CHECK_TEXT(system_error("{}"), "f: scheduling-policy is missing; it is required");
    CHECK_TEXT(error("\"peak-pref\": 1"), "f: unknown key peak-pref; did you mean 'peak-perf'?");
    CHECK_TEXT(
        error("\"all-reduce-implementation-chakra\": [\"x\"]"),
        "f: all-reduce-implementation-chakra is not supported: astra-sim-2025-04 cannot run it; name an "
        "algorithm such as ring in all-reduce-implementation, or write "
        "all-reduce-implementation-custom, which astra-sim-2026-03 has");
    CHECK_TEXT(error("\"endpoint-delay\": -1"),
               "f: endpoint-delay is -1; it must be an integer from 0 to 2147483647");
    CHECK_TEXT(error("\"endpoint-delay\": true"), "f: endpoint-delay is true; it must be a number");
    CHECK_TEXT(error("\"active-chunks-per-dimension\": 1.0"),
               "f: active-chunks-per-dimension is 1.0; it must be an integer");
    CHECK_TEXT(error("\"active-chunks-per-dimension\": 2147483648"),
               "f: active-chunks-per-dimension is 2147483648; it must be an integer from 1 to 2147483647");
    CHECK_TEXT(error("\"roofline-enabled\": false"),
               "f: roofline-enabled is false; it must be 0 (off) or 1 (on); ASTRA-sim takes even the boolean "
               "false as on");
    CHECK_TEXT(error("\"roofline-enabled\": 1, \"local-mem-bw\": 1"),
               "f: peak-perf is missing, so 0; it must be greater than 0 unless the roofline model is off");
    CHECK_TEXT(error("\"roofline-enabled\": 1, \"peak-perf\": 1, \"local-mem-bw\": 0"),
               "f: local-mem-bw is 0; it must be greater than 0 unless the roofline model is off");
    CHECK_TEXT(error("\"peak-perf\": 1e999"),
               "f: peak-perf is 1e999; it must be a number 0 or greater, and at most 1e+30");
    CHECK_TEXT(error("\"all-gather-implementation\": \"ring\""),
               "f: all-gather-implementation is \"ring\"; it must be a list of strings, such as [\"ring\", "
               "\"ring\"]");
    for (const std::string name : {"rng", "direct0", "direct123456"}) {
        CHECK(
            error("\"all-to-all-implementation\": [\"ring\", \"" + name + "\"]")
                .starts_with("f: all-to-all-implementation.1 is '" + name + "'; allowed are ring, direct, "));
    }
    CHECK_TEXT(error("\"local-mem-trace-filename\": \"\""),
               "f: local-mem-trace-filename is empty; it must be a file name");
    CHECK_TEXT(error("\"model-shared-bus\": 1"),
               "f: model-shared-bus is on; the bus model is not supported, set it to 0");
    CHECK_TEXT(error("\"boost-mode\": null"), "f: boost-mode is null; it must be a string or a number");
    CHECK_TEXT(system_error("{\"scheduling-policy\": \"LIF\"}"),
               "f: scheduling-policy is 'LIF'; allowed are LIFO, FIFO, EXPLICIT; did you mean 'LIFO'?");
}

void test_network() {
    const auto dimensions = parse_network(
        "topology: [Mesh2D, Graph]\nnpus_count: [16, 4]\nbandwidth: [50, 1]\nlatency: [500.25, 0]\n"
        "shape: [[4, 4], []]\nfile: ['', \"ring.csv\"]\nroutes: ['', r.csv]\n",
        "a/b.yml");
    CHECK(dimensions.size() == 2 && dimensions[0].topology == "Mesh2D" && dimensions[0].npus == 16);
    CHECK(dimensions[0].latency_ns == 500.25 && dimensions[0].bandwidth_gbps == 50);
    CHECK(dimensions[0].shape == std::vector<std::uint32_t>({4, 4}) && dimensions[0].graph_file.empty());
    CHECK_TEXT(dimensions[1].graph_file, "a/ring.csv");
    CHECK_TEXT(dimensions[1].routes_file, "a/r.csv");
}

void test_network_and_memory_errors() {
    const std::string rest = "npus_count: [4]\nbandwidth: [50]\nlatency: [500]\n";
    CHECK_TEXT(network_error(rest),
               "f: topology is missing; it must be a list with one entry for each dimension");
    CHECK_TEXT(network_error("topology: Ring\n" + rest),
               "f: topology is Ring; it must be a list with one entry for each dimension");
    CHECK_TEXT(network_error("topology: [Rng]\n" + rest),
               "f: topology.0 is 'Rng'; allowed are Ring, FullyConnected, Switch, Mesh2D, Torus2D, Torus3D, "
               "FatTree, Dragonfly, Hypercube, Graph; did you mean 'Ring'?");
    CHECK_TEXT(network_error("topologie: [Ring]\n" + rest),
               "f: unknown key topologie; did you mean 'topology'?");
    CHECK_TEXT(
        network_error("topology: [Ring, Ring]\n" + rest),
        "f: npus_count has 1 entries and topology 2; all lists must have one entry for each dimension");
    CHECK_TEXT(network_error("topology: []\nnpus_count: []\nbandwidth: []\nlatency: []\n"),
               "f: topology is empty; it must list at least one dimension");
    const auto changed = [](const std::string& npus, const std::string& bandwidth,
                            const std::string& latency) {
        return network_error("topology: [Ring]\nnpus_count: [" + npus + "]\nbandwidth: [" + bandwidth +
                             "]\nlatency: [" + latency + "]\n");
    };
    CHECK_TEXT(changed("4.0", "1", "1"), "f: npus_count.0 is '4.0'; it must be an integer");
    CHECK_TEXT(changed("1", "1", "1"), "f: npus_count.0 is 1; it must be an integer from 2 to 16777216");
    CHECK_TEXT(changed("4", "0", "1"),
               "f: bandwidth.0 is 0; it must be a number greater than 0, and at most 1e+30");
    CHECK_TEXT(changed("4", "inf", "1"), "f: bandwidth.0 is 'inf'; it must be a number");
    CHECK_TEXT(changed("4", "1", "-1"), "f: latency.0 is -1; it must be a number 0 or greater");
    CHECK_TEXT(network_error("topology: [Mesh2D]\nshape: [[3, 2]]\n" + rest),
               "f: shape.0 is [3, 2], which has 6 NPUs, but npus is 4");
    CHECK_TEXT(network_error("topology: [Mesh2D]\n" + rest),
               "f: shape.0 is []; Mesh2D needs [width, height]");
    CHECK_TEXT(network_error("topology: [Ring]\nshape: [[4]]\n" + rest), "f: shape.0 is [4]; Ring has none");
    CHECK_TEXT(network_error("topology: [Ring]\nshape: [4]\n" + rest),
               "f: shape.0 is 4; it must be a list of integers, or []");
    CHECK_TEXT(network_error("topology: [Ring]\nfile: x.csv\n" + rest),
               "f: file.0 is set, but Ring has none");
    CHECK_TEXT(network_error("topology: [Graph]\n" + rest), "f: file.0 is missing; Graph needs a CSV file");
    CHECK_TEXT(network_error("topology: [Ring]\nroutes: x.csv\n" + rest),
               "f: routes.0 is set, but only Graph has static routes");
    CHECK_TEXT(network_error("topology: [Ring]\nrouting: [a, b]\n" + rest),
               "f: routing has 2 entries; it must have 1, one a dimension");
    CHECK_TEXT(memory_error("{}"), "f: memory-type is missing; it is required");
    CHECK_TEXT(memory_error("{\"memory-type\": \"MEMORY_POOL\"}"),
               "f: remote-mem-bw is 0; it must be an integer from 1 to 2147483647");
    CHECK(memory_error("{\"memory-type\": \"PER_NODE_MEMORY_EXPANSION\"}").find("is not supported") !=
          std::string::npos);
    CHECK_TEXT(groups_error("{\"0\": []}"), "f: group '0' is []; it must be a list of at least one rank");
    CHECK_TEXT(groups_error("{\"0\": [1, -1]}"), "f: group '0' has the member -1; members are ranks from 0");
    CHECK_TEXT(groups_error("{\"0\": [1, true]}"),
               "f: group '0' has the member true; members are ranks from 0");
    CHECK_TEXT(groups_error("{\"0\": [1, 2, 1]}"),
               "f: group '0' names rank 1 twice; a rank is a member once");
}

void test_command_files() {
    const auto groups = parse_groups("{\"1\": [2, 0], \"0\": [1]}", "f");
    CHECK(groups.size() == 2 && groups[0].name == "1" && groups[0].members[0] == 2);
    const auto memory = parse_remote_memory(
        "{\"memory-type\": \"PER_NPU_MEMORY_EXPANSION\", \"remote-mem-latency\": 5, \"remote-mem-bw\": 2}",
        "f");
    CHECK(memory.kind == dse::simulator::RemoteMemoryKind::kPerNpu && memory.latency_ns == 5 &&
          memory.bytes_per_ns == 2);
}

}  // namespace

int main() try {
    test_json();
    test_json_errors();
    test_yaml();
    test_yaml_errors();
    test_graph();
    test_graph_errors();
    test_system();
    test_system_errors();
    test_network();
    test_network_and_memory_errors();
    test_command_files();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
    std::printf("unexpected exception: %s\n", error.what());
    return 1;
}
