// Any directed graph: heterogeneous links, switches, deterministic shortest paths or static routes.
#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/time.hpp"
#include "inputs/networks/shape.hpp"

namespace dse::network {

namespace {

/// Paths are shortest by latency + serialisation of this message; ties go to the lower device id.
constexpr double kNominalMessageBytes = 1 << 20;

/// Of the tables of routes and delays, which have an entry for each NPU and device.
constexpr std::uint64_t kMostTableEntries = 1 << 24;

class Graph final : public Shape {
public:
    Graph(std::uint32_t npus, std::uint32_t devices, std::vector<Edge> edges,
          const std::vector<StaticRoute>& routes, const Checkpoint& checkpoint)
        : npus_(npus), devices_(devices), edges_(std::move(edges)) {
        find_paths(checkpoint);
        add_static(routes, checkpoint);
    }

    std::uint32_t npus() const override { return npus_; }
    std::uint32_t devices() const override { return devices_; }
    std::vector<Edge> edges() const override { return edges_; }
    std::uint64_t most_edges() const override { return edges_.size(); }
    bool is_uniform() const override { return false; }

    void route(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& devices) const override {
        if (const auto fixed = static_.find({from, to}); fixed != static_.end()) {
            devices.insert(devices.end(), fixed->second.begin(), fixed->second.end());
            return;
        }
        while (from != to) {
            from = next_[static_cast<std::size_t>(to) * devices_ + from];
            devices.push_back(from);
        }
    }

private:
    void add_static(const std::vector<StaticRoute>& routes, const Checkpoint& checkpoint) {
        if (routes.empty()) return;
        std::set<std::pair<std::uint32_t, std::uint32_t>> linked;
        for (const Edge& edge : edges_) {
            checkpoint();
            linked.emplace(edge.from, edge.to);
        }
        for (const StaticRoute& route : routes) add_static(route, linked, checkpoint);
    }

    void add_static(const StaticRoute& route, const std::set<std::pair<std::uint32_t, std::uint32_t>>& linked,
                    const Checkpoint& checkpoint) {
        const std::string name =
            "the route from " + std::to_string(route.from) + " to " + std::to_string(route.to);
        if (route.from >= npus_ || route.to >= npus_ || route.from == route.to) {
            throw InputError(name + " is not between two NPUs (0 to " + std::to_string(npus_ - 1) + ")");
        }
        if (route.devices.empty() || route.devices.back() != route.to)
            throw InputError(name + " does not end there");
        std::uint32_t previous = route.from;
        for (const std::uint32_t device : route.devices) {
            checkpoint();
            if (!linked.contains({previous, device})) {
                throw InputError(name + " needs a link from " + std::to_string(previous) + " to " +
                                 std::to_string(device) + ", which the graph does not have");
            }
            previous = device;
        }
        static_[{route.from, route.to}] = route.devices;
    }

    /// For every destination, the next device from everywhere: Dijkstra on the reversed graph.
    void find_paths(const Checkpoint& checkpoint) {
        std::vector<std::vector<const Edge*>> into(devices_);
        for (const Edge& edge : edges_) into[edge.to].push_back(&edge);
        next_.assign(static_cast<std::size_t>(npus_) * devices_, 0);
        for (std::uint32_t to = 0; to < npus_; ++to) {
            const std::vector<double> cost = costs_to(to, into, checkpoint);
            for (std::uint32_t from = 0; from < npus_; ++from) {
                if (cost[from] == std::numeric_limits<double>::infinity()) {
                    throw InputError("the graph is not connected: there is no way from NPU " +
                                     std::to_string(from) + " to NPU " + std::to_string(to));
                }
            }
        }
    }

    std::vector<double> costs_to(std::uint32_t to, const std::vector<std::vector<const Edge*>>& into,
                                 const Checkpoint& checkpoint) {
        using Item = std::pair<double, std::uint32_t>;
        std::vector<double> cost(devices_, std::numeric_limits<double>::infinity());
        std::vector<bool> done(devices_, false);
        std::priority_queue<Item, std::vector<Item>, std::greater<>> queue;
        std::uint32_t* const next = next_.data() + static_cast<std::size_t>(to) * devices_;
        cost[to] = 0.0;
        queue.emplace(0.0, to);
        while (!queue.empty()) {
            const std::uint32_t device = queue.top().second;
            queue.pop();
            if (done[device]) continue;
            done[device] = true;
            // An NPU forwards messages too, as in the rings and meshes of accelerators.
            for (const Edge* edge : into[device]) {
                checkpoint();
                const double length = edge->latency_ns + kNominalMessageBytes / edge->bytes_per_ns;
                const double candidate = cost[device] + length;
                const bool better = candidate < cost[edge->from];
                const bool tie =
                    candidate == cost[edge->from] && device < next[edge->from] && !done[edge->from];
                if (better || tie) {
                    cost[edge->from] = candidate;
                    next[edge->from] = device;
                    queue.emplace(candidate, edge->from);
                }
            }
        }
        return cost;
    }

    std::uint32_t npus_;
    std::uint32_t devices_;
    std::vector<Edge> edges_;
    std::vector<std::uint32_t> next_;  ///< by destination NPU, then device
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> static_;
};

}  // namespace

std::unique_ptr<Shape> make_graph(std::uint32_t npus, std::uint32_t devices, std::vector<Edge> edges,
                                  const std::vector<StaticRoute>& routes, const Checkpoint& checkpoint) {
    if (static_cast<std::uint64_t>(npus) * devices > kMostTableEntries) {
        throw InputError("a graph of " + std::to_string(npus) + " NPUs and " + std::to_string(devices) +
                         " devices is too large: at most " + std::to_string(kMostTableEntries) +
                         " pairs of an NPU and a device are allowed, such as 4096 NPUs without switches");
    }
    if (devices < npus) throw InputError("a graph has fewer devices than NPUs");
    for (const Edge& edge : edges) {
        if (edge.latency_ns >= static_cast<double>(kEndOfTime)) {
            throw InputError("the link from " + std::to_string(edge.from) + " to " + std::to_string(edge.to) +
                             " has a latency beyond the end of simulated time, " +
                             std::to_string(kEndOfTime) + " ns");
        }
        if (edge.from >= devices || edge.to >= devices || edge.from == edge.to || !(edge.latency_ns >= 0.0) ||
            !(edge.bytes_per_ns > 0.0)) {
            throw InputError("a link of the graph from " + std::to_string(edge.from) + " to " +
                             std::to_string(edge.to) + " is not possible");
        }
    }
    return std::make_unique<Graph>(npus, devices, std::move(edges), routes, checkpoint);
}

}  // namespace dse::network
