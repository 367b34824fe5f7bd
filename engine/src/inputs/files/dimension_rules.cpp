// The rules, in the order in which they are checked.
#include "inputs/files/dimension_rules.hpp"

#include <algorithm>
#include <bit>

#include "inputs/files/rules.hpp"
#include "inputs/networks/shape.hpp"

namespace dse::config {

namespace {

using network::Topology;

std::optional<std::string> problem_of_shape(const DimensionParts& dimension, const Topology& topology) {
    const std::string shown = "is " + std::string(dimension.shape_text);
    const std::string name(topology.name);
    if (topology.entries == 0) {
        if (dimension.shape.empty()) return std::nullopt;
        return shown + "; " + name + " has none";
    }
    std::uint64_t npus = 1;
    bool valid = dimension.shape.size() == topology.entries;
    for (std::size_t i = 0; i < dimension.shape.size(); ++i) {
        valid = valid && dimension.shape[i] >= 1;
        if (i < topology.factors) npus = std::min<std::uint64_t>(npus * dimension.shape[i], 1ULL << 32);
    }
    if (!valid) return shown + "; " + name + " needs " + std::string(topology.sizes);
    if (npus == dimension.npus) return std::nullopt;
    return shown + ", which has " + std::to_string(npus) + " NPUs, but npus is " +
           std::to_string(dimension.npus);
}

}  // namespace

std::vector<std::string_view> topology_names() {
    std::vector<std::string_view> names;
    for (const Topology& topology : network::topologies()) names.push_back(topology.name);
    return names;
}

std::optional<DimensionProblem> problem_of(const DimensionParts& dimension) {
    const Topology* const topology = network::find_topology(dimension.topology);
    const std::vector<std::string_view> names = topology_names();
    if (topology == nullptr) return DimensionProblem{"topology", no_choice(dimension.topology, names)};
    const std::string name(topology->name);
    if (const auto problem = problem_of_shape(dimension, *topology)) {
        return DimensionProblem{"shape", *problem};
    }
    if (topology->needs_power_of_two && !std::has_single_bit(dimension.npus)) {
        return DimensionProblem{
            "npus", "is " + std::to_string(dimension.npus) + "; a " + name + " needs a power of two"};
    }
    if (topology->is_read_from_file && !dimension.has_file) {
        return DimensionProblem{"file", "is missing; " + name + " needs a CSV file"};
    }
    if (!topology->is_read_from_file && dimension.has_file) {
        return DimensionProblem{"file", "is set, but " + name + " has none"};
    }
    if (!topology->is_read_from_file && dimension.has_routes) {
        return DimensionProblem{"routes", "is set, but only Graph has static routes"};
    }
    std::vector<std::string_view> routings = {""};
    routings.insert(routings.end(), topology->routings.begin(), topology->routings.end());
    if (std::find(routings.begin(), routings.end(), dimension.routing) == routings.end()) {
        return DimensionProblem{"routing", no_choice(dimension.routing, routings)};
    }
    return std::nullopt;
}

}  // namespace dse::config
