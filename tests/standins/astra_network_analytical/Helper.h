// A stand-in for where a checkout makes a topology of what its parser read; the case is that of the README.
#pragma once

#include <memory>
#include <stdexcept>
#include <vector>

#include "Mesh2D.h"

namespace NetworkAnalytical {

enum class TopologyKind { Ring, FullyConnected, Switch, Mesh2D };

/// What is read of network.yml.
struct NetworkFile {
    TopologyKind topology;
    int npus_count;
    Bandwidth bandwidth;
    Latency latency;
    std::vector<int> shape;
};

inline std::shared_ptr<Topology> construct_topology(const NetworkFile& file) {
    const auto& shape = file.shape;
    const auto npus_count = file.npus_count;
    const auto bandwidth = file.bandwidth;
    const auto latency = file.latency;
    switch (file.topology) {
        case TopologyKind::Mesh2D:
            if (shape.size() != 2 || shape[0] * shape[1] != npus_count) {
                throw std::invalid_argument(
                    "shape must be [[width, height]] with width * height = npus_count");
            }
            return std::make_shared<Mesh2D>(shape[0], shape[1], bandwidth, latency);
        default:
            throw std::invalid_argument("only meshes here");
    }
}

}  // namespace NetworkAnalytical
