// Builds the product, remembers routes, and finds detours around removed links.
#include "simulation/networks/fabric.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace dse::network {

namespace {

constexpr double kDetourMessageBytes = 1 << 20;

/// In all remembered routes.
constexpr std::size_t kMostRouteLinks = std::size_t{1} << 29;

/// Each dimension has its shape once per line of NPUs along it.
void require_few_links(const std::vector<Dimension>& dimensions, const Address& address) {
    std::uint64_t links = 0;
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
        const std::uint64_t lines = address.npus() / address.size(d);
        const std::uint64_t edges = dimensions[d].shape->most_edges();
        if (edges > kMostLinks / lines || links + lines * edges > kMostLinks) {
            throw InputError("network dimension " + std::to_string(d) + " has " + std::to_string(edges) +
                             " links on each of its " + std::to_string(lines) + " lines of NPUs; at most " +
                             std::to_string(kMostLinks) +
                             " links in all can be simulated: use fewer NPUs or "
                             "network_model congestion_unaware");
        }
        links += lines * edges;
    }
}

}  // namespace

Fabric::Fabric(const std::vector<Dimension>& dimensions, const Checkpoint& checkpoint)
    : address_(dimensions), devices_(address_.npus()) {
    require_few_links(dimensions, address_);
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
        const Line line{dimensions[d].shape, address_.stride(d), devices_};
        const std::uint32_t lines = address_.npus() / dimensions[d].npus();
        devices_ += lines * (line.shape->devices() - line.shape->npus());
        lines_.push_back(line);
        add_links(dimensions[d], line, checkpoint);
    }
}

/// Global device of a local one on the line that goes through `npu`.
std::uint32_t Fabric::device_of(const Line& line, std::uint32_t npu, std::uint32_t local) const {
    const std::uint32_t n = line.shape->npus();
    const std::uint32_t coordinate = npu / line.stride % n;
    if (local < n) return npu - coordinate * line.stride + local * line.stride;
    const std::uint32_t number = npu % line.stride + npu / (line.stride * n) * line.stride;
    return line.first_switch + number * (line.shape->devices() - n) + (local - n);
}

void Fabric::add_links(const Dimension& dimension, const Line& line, const Checkpoint& checkpoint) {
    const std::vector<Edge> edges = line.shape->edges();
    const double bytes_per_ns = dimension.bytes_per_ns();
    for (std::uint32_t npu = 0; npu < address_.npus(); ++npu) {
        if (npu / line.stride % line.shape->npus() != 0) continue;  // once a line
        for (const Edge& edge : edges) {
            checkpoint();
            const FabricLink link{device_of(line, npu, edge.from), device_of(line, npu, edge.to),
                                  edge.latency_ns < 0.0 ? dimension.latency_ns : edge.latency_ns,
                                  edge.bytes_per_ns < 0.0 ? bytes_per_ns : edge.bytes_per_ns, false};
            link_between_[pair_of(link.from, link.to)] = static_cast<std::uint32_t>(links_.size());
            links_.push_back(link);
        }
    }
}

std::span<const std::uint32_t> Fabric::route(std::uint32_t source, std::uint32_t destination,
                                             const Checkpoint& checkpoint) {
    const Pair pair = pair_of(source, destination);
    const Range* known = range_of_.find(pair);
    if (known == nullptr) {
        if (route_links_.size() > kMostRouteLinks) {
            throw SimulationError("the network needs more routes than fit into memory; use fewer NPUs");
        }
        const auto begin = static_cast<std::uint32_t>(route_links_.size());
        append_route(source, destination);
        const bool broken = std::any_of(route_links_.begin() + begin, route_links_.end(),
                                        [&](std::uint32_t link) { return links_[link].removed; });
        if (broken) {
            route_links_.resize(begin);
            append_detour(source, destination, checkpoint);
        }
        Range& range = range_of_[pair];
        range = {begin, static_cast<std::uint32_t>(route_links_.size())};
        known = &range;
    }
    return {route_links_.data() + known->begin, route_links_.data() + known->end};
}

void Fabric::append_route(std::uint32_t source, std::uint32_t destination) {
    std::vector<std::uint32_t> devices;
    std::uint32_t at = source;
    for (const Line& line : lines_) {
        const std::uint32_t n = line.shape->npus();
        const std::uint32_t from = at / line.stride % n;
        const std::uint32_t to = destination / line.stride % n;
        if (from == to) continue;
        devices.clear();
        line.shape->route(from, to, devices);
        std::uint32_t previous = at;
        for (const std::uint32_t local : devices) {
            const std::uint32_t device = device_of(line, at, local);
            route_links_.push_back(*link_between_.find(pair_of(previous, device)));
            previous = device;
        }
        at = previous;
    }
}

/// Dijkstra over the links that are left, by latency + serialisation of a nominal message; ties by device.
void Fabric::append_detour(std::uint32_t source, std::uint32_t destination, const Checkpoint& checkpoint) {
    using Item = std::pair<double, std::uint32_t>;
    std::vector<std::vector<std::uint32_t>> out(devices_);
    for (std::uint32_t i = 0; i < links_.size(); ++i) {
        checkpoint();
        if (!links_[i].removed) out[links_[i].from].push_back(i);
    }
    std::vector<double> cost(devices_, std::numeric_limits<double>::infinity());
    std::vector<std::uint32_t> last_link(devices_, 0);
    std::priority_queue<Item, std::vector<Item>, std::greater<>> queue;
    cost[source] = 0.0;
    queue.emplace(0.0, source);
    while (!queue.empty()) {
        const auto [so_far, device] = queue.top();
        queue.pop();
        if (so_far > cost[device]) continue;
        for (const std::uint32_t index : out[device]) {
            checkpoint();
            const FabricLink& link = links_[index];
            const double candidate = so_far + link.latency_ns + kDetourMessageBytes / link.bytes_per_ns;
            if (candidate < cost[link.to]) {
                cost[link.to] = candidate;
                last_link[link.to] = index;
                queue.emplace(candidate, link.to);
            }
        }
    }
    if (cost[destination] == std::numeric_limits<double>::infinity()) {
        throw SimulationError("the removed links leave no way from NPU " + std::to_string(source) +
                              " to NPU " + std::to_string(destination));
    }
    std::vector<std::uint32_t> links;
    for (std::uint32_t device = destination; device != source; device = links_[links.back()].from) {
        links.push_back(last_link[device]);
    }
    route_links_.insert(route_links_.end(), links.rbegin(), links.rend());
}

void Fabric::degrade(const LinkFault& fault) {
    const std::uint32_t* index = link_between_.find(pair_of(fault.from, fault.to));
    if (index == nullptr) {
        throw InputError("network.faults: there is no link from device " + std::to_string(fault.from) +
                         " to device " + std::to_string(fault.to) + " (devices 0 to " +
                         std::to_string(address_.npus() - 1) + " are the NPUs, " + std::to_string(devices_) +
                         " devices in total)");
    }
    FabricLink& link = links_[*index];
    link.removed = link.removed || fault.removed;
    link.bytes_per_ns *= fault.bandwidth_factor;
    link.latency_ns *= fault.latency_factor;
    if (fault.removed) {
        range_of_ = FlatMap<Pair, Range>();
        route_links_.clear();
    }
}

}  // namespace dse::network
