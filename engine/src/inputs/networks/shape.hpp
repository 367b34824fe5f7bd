// The shape of one network dimension: its devices, directed links and routes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancellation.hpp"

namespace dse::network {

/// A directed link between two devices of a shape. Devices 0 … n-1 are NPUs, those above are switches.
struct Edge {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    double latency_ns = -1.0;    ///< below 0: that of the dimension
    double bytes_per_ns = -1.0;  ///< below 0: that of the dimension
};

/// One topology. To add one, write a class with its edges and routes, and name it in topologies.cpp.
class Shape {
public:
    virtual ~Shape() = default;

    virtual std::uint32_t npus() const = 0;
    virtual std::uint32_t devices() const { return npus(); }
    virtual std::vector<Edge> edges() const = 0;

    /// At least the number of edges, without making them.
    virtual std::uint64_t most_edges() const = 0;

    /// Appends the devices after `from` on the way to `to`, two different NPUs; the last one is `to`.
    virtual void route(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& devices) const = 0;

    /// Number of links on that way.
    virtual std::uint32_t hops(std::uint32_t from, std::uint32_t to) const {
        std::vector<std::uint32_t> devices;
        route(from, to, devices);
        return static_cast<std::uint32_t>(devices.size());
    }

    /// Whether i -> i + 1 (modulo the NPUs) maps the shape and its distances onto itself.
    virtual bool is_rotation_symmetric() const { return false; }

    /// Whether all links have the latency and bandwidth of the dimension.
    virtual bool is_uniform() const { return true; }
};

/// A way of a static route table: the devices after `from`, the last one `to`.
struct StaticRoute {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::vector<std::uint32_t> devices;
};

/// A dimension as the network file has it.
struct ShapeSpec {
    std::string topology;  ///< Ring, FullyConnected, Switch, Mesh2D, Torus2D, …
    std::uint32_t npus = 0;
    std::vector<std::uint32_t> sizes;  ///< extents of a mesh, parameters of a Clos network or a dragonfly
    std::string routing;               ///< of a Clos network: "deterministic" (also if empty) or "ecmp"
    std::vector<Edge> graph;           ///< of a Graph
    std::uint32_t graph_devices = 0;
    std::vector<StaticRoute> routes;  ///< of a Graph: ways that replace the shortest ones
};

/// Makes a shape. Throws InputError naming the key, what was got and what is allowed.
std::unique_ptr<Shape> make_shape(const ShapeSpec& spec, const Checkpoint& checkpoint = {});

/// A row of the table of topologies: what the dimension of a network says besides the NPUs.
struct Topology {
    std::string_view name;
    std::unique_ptr<Shape> (*make)(const ShapeSpec&, const Checkpoint&);
    std::string_view sizes = {};      ///< what the entries of `shape` are; none: it has no `shape`
    std::size_t entries = 0;          ///< of `shape`
    std::size_t factors = 0;          ///< the first of them, which multiply to the NPUs
    bool needs_power_of_two = false;  ///< of NPUs
    bool is_read_from_file = false;   ///< a CSV file of links, and perhaps one of routes
    std::span<const std::string_view> routings = {};  ///< besides the empty one
};

/// All topologies, in the order in which messages list them.
std::span<const Topology> topologies();

/// A topology by its name, null if there is none.
const Topology* find_topology(std::string_view name);

std::unique_ptr<Shape> make_graph(std::uint32_t npus, std::uint32_t devices, std::vector<Edge> edges,
                                  const std::vector<StaticRoute>& routes = {},
                                  const Checkpoint& checkpoint = {});

}  // namespace dse::network
