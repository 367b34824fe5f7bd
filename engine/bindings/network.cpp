// The links and routes of a network in Python, read-only: for tests, drawings and tools.
#include "inputs/networks/network.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "bindings/bindings.hpp"
#include "bindings/checkpoints.hpp"
#include "simulation/networks/fabric.hpp"
#include "simulation/simulators/config.hpp"
#include "simulation/simulators/understated.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace dse;
using network::Fabric;

namespace {

/// From, to, latency in ns, bandwidth in bytes per ns.
using LinkView = std::tuple<std::uint32_t, std::uint32_t, double, double>;

/// With the faults that hold from the start.
Fabric fabric_of(const simulator::SystemConfig& config, const Checkpoint& checkpoint) {
    network::check(config.network);
    Fabric fabric(config.network, checkpoint);
    for (const network::LinkFault& fault : config.faults) {
        if (fault.at_ns == 0) fabric.degrade(fault);
    }
    return fabric;
}

std::vector<LinkView> links(const Fabric& fabric) {
    std::vector<LinkView> views;
    for (const network::FabricLink& link : fabric.links()) {
        if (!link.removed) views.emplace_back(link.from, link.to, link.latency_ns, link.bytes_per_ns);
    }
    return views;
}

std::vector<std::uint32_t> route(Fabric& fabric, std::uint32_t source, std::uint32_t destination) {
    for (const std::uint32_t npu : {source, destination}) {
        if (npu >= fabric.npus()) {
            throw InputError("NPU " + std::to_string(npu) + " does not exist; the network has " +
                             std::to_string(fabric.npus()) + " NPUs");
        }
    }
    std::vector<std::uint32_t> devices{source};
    for (const std::uint32_t link : fabric.route(source, destination)) {
        devices.push_back(fabric.link(link).to);
    }
    return devices;
}

/// `dimensions` are (NPUs, bytes per ns, latency in ns), `rings` (axis, degree, stride).
std::string understated(const std::vector<std::tuple<std::uint32_t, double, double>>& dimensions,
                        const std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>>& rings,
                        std::uint64_t pp, bool stages_go_round, bool has_logical_ring) {
    std::vector<simulator::SlowestLinks> links;
    for (const auto& [npus, bytes_per_ns, latency_ns] : dimensions)
        links.push_back({npus, bytes_per_ns, latency_ns});
    simulator::Senders senders{{}, pp, stages_go_round, has_logical_ring};
    for (const auto& [axis, degree, stride] : rings) senders.axes.push_back({axis, degree, stride, true});
    return simulator::understated_communication(links, senders);
}

}  // namespace

void bind_network(nb::module_& m) {
    nb::class_<Fabric>(m, "Fabric")
        .def(
            "__init__",
            [](Fabric* self, const simulator::SystemConfig& config) {
                const Checkpoint checkpoint = checkpoint_of(nullptr);
                const nb::gil_scoped_release release;
                new (self) Fabric(fabric_of(config, checkpoint));
            },
            "config"_a)
        .def_prop_ro("npus", &Fabric::npus)
        .def_prop_ro("devices", &Fabric::devices)
        .def_prop_ro("links", &links)
        .def("route", &route, "source"_a, "destination"_a);
    m.def("understated_communication", &understated, "dimensions"_a, "rings"_a, "pp"_a, "stages_go_round"_a,
          "has_logical_ring"_a);
}
