// The shape of one network dimension: its devices, directed links and routes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dse::network {

/// A directed link between two devices of a shape. Devices 0 … n-1 are NPUs, those above are switches.
struct Edge {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    double latency_ns = -1.0;    ///< below 0: that of the dimension
    double bytes_per_ns = -1.0;  ///< below 0: that of the dimension
};

/// One topology. To add one, write a class with its edges and routes, and name it in make_shape.
class Shape {
public:
    virtual ~Shape() = default;

    virtual std::uint32_t npus() const = 0;
    virtual std::uint32_t devices() const { return npus(); }
    virtual std::vector<Edge> edges() const = 0;

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

/// What the network file says of a dimension.
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
std::unique_ptr<Shape> make_shape(const ShapeSpec& spec);

std::unique_ptr<Shape> make_ring(std::uint32_t npus);
std::unique_ptr<Shape> make_fully_connected(std::uint32_t npus);
std::unique_ptr<Shape> make_switch(std::uint32_t npus);
std::unique_ptr<Shape> make_grid(std::vector<std::uint32_t> sizes, bool wraps);
std::unique_ptr<Shape> make_hypercube(std::uint32_t npus);
std::unique_ptr<Shape> make_clos(std::uint32_t npus_per_leaf, std::uint32_t leaves, std::uint32_t spines,
                                 bool ecmp);
std::unique_ptr<Shape> make_dragonfly(std::uint32_t npus_per_router, std::uint32_t routers,
                                      std::uint32_t groups);
std::unique_ptr<Shape> make_graph(std::uint32_t npus, std::uint32_t devices, std::vector<Edge> edges,
                                  const std::vector<StaticRoute>& routes = {});

}  // namespace dse::network
