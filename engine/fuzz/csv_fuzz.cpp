// Graphs and static routes: any text is read or refused; every route of a graph that is read uses its links.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "inputs/files/csv_graph.hpp"

namespace {

constexpr std::uint32_t kMostDevices = 64;  // more take too long for a fuzzer

void check_routes(const dse::config::CsvGraph& graph) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> links;
    for (const dse::network::Edge& edge : graph.edges) links.emplace(edge.from, edge.to);
    const auto shape = dse::network::make_graph(graph.devices, graph.devices, graph.edges);
    std::vector<std::uint32_t> way;
    for (std::uint32_t from = 0; from < graph.devices; ++from) {
        for (std::uint32_t to = 0; to < graph.devices; ++to) {
            if (from == to) continue;
            way.assign(1, from);
            shape->route(from, to, way);
            if (way.size() < 2 || way.size() > graph.devices || way.back() != to) std::abort();
            for (std::size_t i = 1; i < way.size(); ++i) {
                if (!links.contains({way[i - 1], way[i]})) std::abort();
            }
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const dse::config::CsvGraph graph = dse::config::parse_graph(text, "f");
        if (graph.devices <= kMostDevices) check_routes(graph);
    } catch (const dse::InputError&) {
    }
    try {
        dse::config::parse_routes(text, "f");
    } catch (const dse::InputError&) {
    }
    return 0;
}
