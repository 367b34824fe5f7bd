// The readers of configuration files in Python, and the names and rules that the engine owns.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/columns.hpp"
#include "inputs/files/csv_graph.hpp"
#include "inputs/files/dimension_rules.hpp"
#include "inputs/files/json.hpp"
#include "inputs/files/text.hpp"
#include "simulation/algorithms/registry.hpp"
#include "simulation/systems/algorithm_rules.hpp"
#include "simulation/systems/system_files.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace dse;
using config::JsonKind;
using config::JsonValue;

namespace {

/// Topology, NPUs, bandwidth, latency, shape, routing, file, routes: the fields of DimensionEntry.
using DimensionView = std::tuple<std::string, std::uint32_t, double, double, std::vector<std::uint32_t>,
                                 std::string, std::string, std::string>;
/// Source, destination, latency in ns, bandwidth in bytes per ns.
using LinkView = std::tuple<std::uint32_t, std::uint32_t, double, double>;
/// Source, destination, the devices after the source.
using RouteView = std::tuple<std::uint32_t, std::uint32_t, std::vector<std::uint32_t>>;

/// Numbers keep what they are in the file: an integer of any size, or a float.
nb::object to_python(const JsonValue& value) {
    switch (value.kind) {
        case JsonKind::kBool:
            return nb::bool_(value.boolean);
        case JsonKind::kInteger:
            return nb::steal(PyLong_FromString(value.text.c_str(), nullptr, 10));
        case JsonKind::kReal:
            return nb::float_(value.number);
        case JsonKind::kString:
            return nb::str(value.text.c_str(), value.text.size());
        case JsonKind::kArray: {
            nb::list list;
            for (const JsonValue& item : value.items) list.append(to_python(item));
            return list;
        }
        case JsonKind::kObject: {
            nb::dict dict;
            for (const config::JsonMember& member : value.members)
                dict[nb::str(member.key.c_str(), member.key.size())] = to_python(member.value);
            return dict;
        }
        default:
            return nb::none();
    }
}

nb::object content_of(const std::string& text, const std::string& path) {
    return to_python(config::parse_json_object(text, path));
}

std::vector<DimensionView> dimensions_of(const std::string& network_yml) {
    std::vector<DimensionView> views;
    for (const config::DimensionEntry& entry :
         config::parse_network(config::read_text_file(network_yml), network_yml)) {
        views.emplace_back(entry.topology, entry.npus, entry.bandwidth_gbps, entry.latency_ns, entry.shape,
                           entry.routing, entry.graph_file, entry.routes_file);
    }
    return views;
}

/// Checks everything that the files say, and returns it as it stands there.
nb::tuple read_system_files(const std::string& system_json, const std::string& network_yml,
                            const std::optional<std::string>& remote_memory_json) {
    const std::string system = config::read_text_file(system_json);
    const config::SystemFile file = config::parse_system(system, system_json);
    nb::object remote_memory = nb::dict();
    if (remote_memory_json) {
        const std::string text = config::read_text_file(*remote_memory_json);
        config::parse_remote_memory(text, *remote_memory_json);
        remote_memory = content_of(text, *remote_memory_json);
    }
    const std::vector<DimensionView> dimensions = dimensions_of(network_yml);
    config::check_algorithm_counts(file.config, dimensions.size(), system_json);
    return nb::make_tuple(content_of(system, system_json), dimensions, remote_memory);
}

std::tuple<std::uint32_t, std::vector<LinkView>> read_graph(const std::string& path) {
    const config::CsvGraph graph = config::parse_graph(config::read_text_file(path), path);
    std::vector<LinkView> links;
    for (const network::Edge& edge : graph.edges)
        links.emplace_back(edge.from, edge.to, edge.latency_ns, edge.bytes_per_ns);
    return {graph.devices, links};
}

/// Devices; per link source, destination and the number of its kind; per kind latency and bandwidth as texts.
nb::tuple read_links(const std::string& path, bool parallel) {
    const config::CsvGraph graph = config::parse_graph(config::read_text_file(path), path, parallel);
    std::vector<std::int32_t> from, to, kind;
    std::map<std::pair<std::string, std::string>, std::int32_t> numbers;
    std::vector<std::pair<std::string, std::string>> kinds;
    for (std::size_t i = 0; i < graph.edges.size(); ++i) {
        const auto [found, is_new] =
            numbers.try_emplace(graph.texts[i], static_cast<std::int32_t>(kinds.size()));
        if (is_new) kinds.push_back(graph.texts[i]);
        from.push_back(static_cast<std::int32_t>(graph.edges[i].from));
        to.push_back(static_cast<std::int32_t>(graph.edges[i].to));
        kind.push_back(found->second);
    }
    return nb::make_tuple(graph.devices, to_numpy(std::move(from)), to_numpy(std::move(to)),
                          to_numpy(std::move(kind)), kinds);
}

std::vector<RouteView> read_routes(const std::string& path) {
    std::vector<RouteView> views;
    for (const network::StaticRoute& route : config::parse_routes(config::read_text_file(path), path))
        views.emplace_back(route.from, route.to, route.devices);
    return views;
}

std::vector<std::string> topologies() {
    const std::vector<std::string_view> names = config::topology_names();
    return {names.begin(), names.end()};
}

std::optional<std::tuple<std::string, std::string>> dimension_problem(
    const std::string& topology, std::uint32_t npus, const std::vector<std::uint32_t>& shape,
    const std::string& shape_text, const std::string& routing, bool has_file, bool has_routes) {
    const auto problem =
        config::problem_of({topology, npus, shape, shape_text, routing, has_file, has_routes});
    if (!problem) return std::nullopt;
    return std::tuple(problem->field, problem->problem);
}

}  // namespace

void bind_files(nb::module_& m) {
    m.def("read_system_files", &read_system_files, "system_json"_a, "network_yml"_a,
          "remote_memory_json"_a.none(),
          nb::sig("def read_system_files(system_json: str, network_yml: str, remote_memory_json: str | None) "
                  "-> tuple[dict[str, Any], list[tuple[str, int, float, float, list[int], str, str, str]], "
                  "dict[str, Any]]"));
    m.def("read_graph", &read_graph, "path"_a);
    m.def("read_links", &read_links, "path"_a, "parallel"_a,
          nb::sig("def read_links(path: str, parallel: bool) -> tuple[int, NDArray[numpy.int32], "
                  "NDArray[numpy.int32], "
                  "NDArray[numpy.int32], list[tuple[str, str]]]"));
    m.def("read_routes", &read_routes, "path"_a);
    m.def("topologies", &topologies);
    m.def("dimension_problem", &dimension_problem, "topology"_a, "npus"_a, "shape"_a, "shape_text"_a,
          "routing"_a, "has_file"_a, "has_routes"_a);
    m.def("algorithm_problem", &config::algorithm_problem, "name"_a);
}
