// Shapes by name, with their parameters checked.
#include "network/shape.hpp"

#include <bit>
#include <numeric>

#include "core/error.hpp"

namespace dse::network {

namespace {

std::string list_text(const std::vector<std::uint32_t>& sizes) {
    std::string text = "[";
    for (std::size_t i = 0; i < sizes.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
    return text + "]";
}

/// Parameters must be `count` positive numbers; returns the product of the first `factors` of them.
std::uint64_t product_of(const ShapeSpec& spec, std::size_t count, std::size_t factors, const char* meaning) {
    bool good = spec.sizes.size() == count;
    std::uint64_t product = 1;
    for (std::size_t i = 0; i < spec.sizes.size(); ++i) {
        good = good && spec.sizes[i] >= 1 && spec.sizes[i] <= (1U << 20);
        if (i < factors && product < (1U << 24)) product *= spec.sizes[i];
    }
    if (!good) {
        throw InputError("shape of " + spec.topology + " is " + list_text(spec.sizes) + "; it must be " +
                         meaning);
    }
    return product;
}

void require_npus(const ShapeSpec& spec, std::uint64_t npus) {
    if (npus == spec.npus) return;
    throw InputError("shape " + list_text(spec.sizes) + " of " + spec.topology + " has " +
                     std::to_string(npus) + " NPUs, but npus is " + std::to_string(spec.npus));
}

std::unique_ptr<Shape> grid_of(const ShapeSpec& spec, std::size_t dimensions, bool wraps) {
    require_npus(spec,
                 product_of(spec, dimensions, dimensions, dimensions == 2 ? "[width, height]" : "[x, y, z]"));
    return make_grid(spec.sizes, wraps);
}

std::unique_ptr<Shape> clos_of(const ShapeSpec& spec) {
    require_npus(spec, product_of(spec, 3, 2, "[NPUs per leaf, leaves, spines]"));
    const bool ecmp = spec.routing == "ecmp";
    if (!ecmp && !spec.routing.empty() && spec.routing != "deterministic") {
        throw InputError("routing of FatTree is '" + spec.routing + "'; allowed are deterministic, ecmp");
    }
    return make_clos(spec.sizes[0], spec.sizes[1], spec.sizes[2], ecmp);
}

}  // namespace

std::unique_ptr<Shape> make_shape(const ShapeSpec& spec) {
    if (spec.npus < 2) {
        throw InputError("npus of " + spec.topology + " is " + std::to_string(spec.npus) +
                         "; it must be at least 2");
    }
    const std::string& name = spec.topology;
    if (name == "Ring") return make_ring(spec.npus);
    if (name == "FullyConnected") return make_fully_connected(spec.npus);
    if (name == "Switch") return make_switch(spec.npus);
    if (name == "Mesh2D") return grid_of(spec, 2, false);
    if (name == "Torus2D") return grid_of(spec, 2, true);
    if (name == "Torus3D") return grid_of(spec, 3, true);
    if (name == "FatTree") return clos_of(spec);
    if (name == "Hypercube") {
        if (!std::has_single_bit(spec.npus)) {
            throw InputError("npus of Hypercube is " + std::to_string(spec.npus) +
                             "; it must be a power of two");
        }
        return make_hypercube(spec.npus);
    }
    if (name == "Dragonfly") {
        require_npus(spec, product_of(spec, 3, 3, "[NPUs per router, routers per group, groups]"));
        return make_dragonfly(spec.sizes[0], spec.sizes[1], spec.sizes[2]);
    }
    if (name == "Graph") return make_graph(spec.npus, spec.graph_devices, spec.graph, spec.routes);
    throw InputError(
        "topology is '" + name +
        "'; allowed are Ring, FullyConnected, Switch, Mesh2D, Torus2D, Torus3D, Hypercube, FatTree, "
        "Dragonfly, Graph");
}

}  // namespace dse::network
