// Arbitrary directed graphs as networks: reading the CSV form.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inputs/networks/shape.hpp"

namespace dse::config {

/// Devices 0 … n-1 and directed links; the first devices are NPUs, the others switches.
struct CsvGraph {
    std::uint32_t devices = 0;
    std::vector<network::Edge> edges;
    /// Latency and bandwidth of each edge as they are written, which a double may not hold exactly.
    std::vector<std::pair<std::string, std::string>> texts;
};

/// Parses the number of nodes, a header line, then a link a line: source, destination, latency in ns,
/// bandwidth in GB/s (10^9 bytes per second, which is a byte per ns). With `parallel` a pair of nodes may
/// have several links.
///
/// Throws InputError with path and line: a wrong number of fields, an unknown node, a link to itself or else
/// one that occurs twice, a negative latency, a bandwidth that is not positive,
/// either beyond the end of simulated time.
CsvGraph parse_graph(std::string_view text, const std::string& path, bool parallel = false);

/// Parses static routes: a header `Src,Dest,Via`, then a route a line; Via lists devices, blank-separated.
///
/// Throws InputError with path and line: a wrong header, a wrong number, a pair that occurs twice. Whether
/// the links exist is checked when the network is built.
std::vector<network::StaticRoute> parse_routes(std::string_view text, const std::string& path);

}  // namespace dse::config
