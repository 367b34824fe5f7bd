// The table of topologies: a line each, here and nowhere else; Python asks it.
#include <algorithm>
#include <array>
#include <bit>

#include "base/error.hpp"
#include "inputs/networks/shape.hpp"

namespace dse::network {

std::unique_ptr<Shape> make_ring(std::uint32_t npus);
std::unique_ptr<Shape> make_fully_connected(std::uint32_t npus);
std::unique_ptr<Shape> make_switch(std::uint32_t npus);
std::unique_ptr<Shape> make_grid(std::vector<std::uint32_t> sizes, bool wraps);
std::unique_ptr<Shape> make_hypercube(std::uint32_t npus);
std::unique_ptr<Shape> make_clos(std::uint32_t npus_per_leaf, std::uint32_t leaves, std::uint32_t spines,
                                 bool ecmp);
std::unique_ptr<Shape> make_dragonfly(std::uint32_t npus_per_router, std::uint32_t routers,
                                      std::uint32_t groups);

namespace {

using Spec = const ShapeSpec&;
using Check = const Checkpoint&;

constexpr std::uint32_t kMostOfASize = 1U << 20;
constexpr std::uint64_t kMostNpus = 1U << 24;
constexpr std::array<std::string_view, 2> kClosRoutings = {"deterministic", "ecmp"};
constexpr std::string_view kPlane = "[width, height]";
constexpr std::string_view kClos = "[NPUs per leaf, leaves, spines]";
constexpr std::string_view kDragonfly = "[NPUs per router, routers per group, groups]";

const std::array kTopologies = {
    Topology{"Ring", [](Spec s, Check) { return make_ring(s.npus); }},
    Topology{"FullyConnected", [](Spec s, Check) { return make_fully_connected(s.npus); }},
    Topology{"Switch", [](Spec s, Check) { return make_switch(s.npus); }},
    Topology{"Mesh2D", [](Spec s, Check) { return make_grid(s.sizes, false); }, kPlane, 2, 2},
    Topology{"Torus2D", [](Spec s, Check) { return make_grid(s.sizes, true); }, kPlane, 2, 2},
    Topology{"Torus3D", [](Spec s, Check) { return make_grid(s.sizes, true); }, "[width, height, depth]", 3,
             3},
    Topology{"FatTree",
             [](Spec s, Check) {
                 return make_clos(s.sizes[0], s.sizes[1], s.sizes[2], s.routing == kClosRoutings[1]);
             },
             kClos, 3, 2, false, false, kClosRoutings},
    Topology{"Dragonfly", [](Spec s, Check) { return make_dragonfly(s.sizes[0], s.sizes[1], s.sizes[2]); },
             kDragonfly, 3, 3},
    Topology{"Hypercube", [](Spec s, Check) { return make_hypercube(s.npus); }, {}, 0, 0, true},
    Topology{"Graph",
             [](Spec s, Check checkpoint) {
                 return make_graph(s.npus, s.graph_devices, s.graph, s.routes, checkpoint);
             },
             {},
             0,
             0,
             false,
             true},
};

/// Files are checked with their messages by config/dimension_rules.cpp; this guards what is made from.
bool keeps_rules(const Topology& topology, const ShapeSpec& spec) {
    std::uint64_t npus = 1;
    for (std::size_t i = 0; i < spec.sizes.size(); ++i) {
        if (spec.sizes[i] < 1 || spec.sizes[i] > kMostOfASize) return false;
        if (i < topology.factors && npus <= kMostNpus) npus *= spec.sizes[i];
    }
    const auto& routings = topology.routings;
    return spec.npus >= 2 && spec.sizes.size() == topology.entries &&
           (topology.entries == 0 || npus == spec.npus) &&
           (!topology.needs_power_of_two || std::has_single_bit(spec.npus)) &&
           (spec.routing.empty() ||
            std::find(routings.begin(), routings.end(), spec.routing) != routings.end());
}

}  // namespace

std::span<const Topology> topologies() { return kTopologies; }

const Topology* find_topology(std::string_view name) {
    const auto found = std::find_if(kTopologies.begin(), kTopologies.end(),
                                    [&](const Topology& topology) { return topology.name == name; });
    return found == kTopologies.end() ? nullptr : &*found;
}

std::unique_ptr<Shape> make_shape(const ShapeSpec& spec, const Checkpoint& checkpoint) {
    const Topology* const topology = find_topology(spec.topology);
    if (topology != nullptr && keeps_rules(*topology, spec)) return topology->make(spec, checkpoint);
    std::string sizes;
    for (const std::uint32_t size : spec.sizes) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    throw InputError("topology " + spec.topology + " with npus " + std::to_string(spec.npus) + ", shape [" +
                     sizes + "] and routing '" + spec.routing +
                     "' cannot be made: see the table of topologies in docs/networks.md");
}

}  // namespace dse::network
