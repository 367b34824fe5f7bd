// The rules of what a network dimension says besides bandwidth and latency, by the table of topologies.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dse::config {

struct DimensionParts {
    std::string_view topology;
    std::uint32_t npus = 0;
    std::span<const std::uint32_t> shape;
    std::string_view shape_text;  ///< the shape as messages show it: [4, 2]
    std::string_view routing;
    bool has_file = false;
    bool has_routes = false;
};

/// A broken rule: `field` is topology, npus, shape, file, routes or routing; what was got and is
/// allowed.
struct DimensionProblem {
    std::string field;
    std::string problem;
};

/// The names of all topologies.
std::vector<std::string_view> topology_names();

/// The first rule that a dimension breaks, if any.
std::optional<DimensionProblem> problem_of(const DimensionParts& dimension);

}  // namespace dse::config
