// Delays without contention.
#include "simulation/networks/congestion_unaware.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace dse::network {

CongestionUnaware::CongestionUnaware(const std::vector<Dimension>& dimensions, const Checkpoint& checkpoint)
    : address_(dimensions) {
    check(dimensions);
    for (const Dimension& dimension : dimensions) {
        const Shape& shape = *dimension.shape;
        links_.push_back({dimension.shape, dimension.latency_ns, dimension.bytes_per_ns(),
                          shape.is_uniform() ? std::vector<Path>{} : paths_of(shape, checkpoint)});
    }
}

std::vector<CongestionUnaware::Path> CongestionUnaware::paths_of(const Shape& shape,
                                                                 const Checkpoint& checkpoint) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, Edge> edge_between;
    for (const Edge& edge : shape.edges()) edge_between[{edge.from, edge.to}] = edge;
    std::vector<Path> paths;
    std::vector<std::uint32_t> devices;
    for (std::uint32_t from = 0; from < shape.npus(); ++from) {
        for (std::uint32_t to = 0; to < shape.npus(); ++to) {
            Path path{0.0, std::numeric_limits<double>::infinity()};
            devices.clear();
            if (from != to) shape.route(from, to, devices);
            std::uint32_t previous = from;
            for (const std::uint32_t device : devices) {
                checkpoint();
                const Edge& edge = edge_between.at({previous, device});
                path.latency_ns += edge.latency_ns;
                path.bytes_per_ns = std::min(path.bytes_per_ns, edge.bytes_per_ns);
                previous = device;
            }
            paths.push_back(path);
        }
    }
    return paths;
}

Wire CongestionUnaware::wire(std::uint32_t source, std::uint32_t destination) const {
    for (std::uint32_t dimension = 0; dimension < links_.size(); ++dimension) {
        const std::uint32_t npus = address_.size(dimension);
        const std::uint32_t from = source % npus;
        const std::uint32_t to = destination % npus;
        if (from != to) return {dimension, links_[dimension].shape->hops(from, to)};
        source /= npus;
        destination /= npus;
    }
    return {};
}

Time CongestionUnaware::delay_ns(std::uint32_t source, std::uint32_t destination, std::uint64_t bytes) const {
    for (std::uint32_t dimension = 0; dimension < links_.size(); ++dimension) {
        const Link& link = links_[dimension];
        const std::uint32_t npus = address_.size(dimension);
        const std::uint32_t from = source % npus;
        const std::uint32_t to = destination % npus;
        source /= npus;
        destination /= npus;
        if (from == to) continue;
        if (link.paths.empty()) return delay_ns(Wire{dimension, link.shape->hops(from, to)}, bytes);
        const Path& path = link.paths[from * npus + to];
        return whole_ns(path.latency_ns + static_cast<double>(bytes) / path.bytes_per_ns);
    }
    return 0;
}

}  // namespace dse::network
