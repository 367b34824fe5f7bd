// A minimal stand-in, of our own writing, for the interface that Mesh2D is written for: what its README
// lists.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace NetworkAnalytical {

using DeviceId = int;
using Bandwidth = double;  // GB/s
using Latency = double;    // ns

/// An NPU or a switch.
struct Device {
    DeviceId id;
};

using Route = std::list<std::shared_ptr<Device>>;

/// A directed link.
struct Link {
    Bandwidth bandwidth;
    Latency latency;
};

/// Devices and links; the constructor of a topology connects them, `route` says how a message moves.
class Topology {
public:
    Topology() = default;
    Topology(const Topology&) = delete;
    Topology& operator=(const Topology&) = delete;
    virtual ~Topology() noexcept = default;

    [[nodiscard]] virtual Route route(DeviceId src, DeviceId dest) const noexcept = 0;

    [[nodiscard]] std::size_t device_count() const noexcept { return devices.size(); }
    [[nodiscard]] const std::map<std::pair<DeviceId, DeviceId>, Link>& links() const noexcept {
        return links_;
    }

protected:
    void connect(DeviceId src, DeviceId dest, Bandwidth bandwidth, Latency latency,
                 bool bidirectional = true) {
        if (src == dest || !links_.emplace(std::pair{src, dest}, Link{bandwidth, latency}).second) {
            throw std::logic_error("a link to itself, or a second one");
        }
        if (bidirectional) {
            connect(dest, src, bandwidth, latency, false);
        }
    }

    std::vector<std::shared_ptr<Device>> devices;

private:
    std::map<std::pair<DeviceId, DeviceId>, Link> links_;
};

/// A topology of one dimension, all of whose links are alike.
class BasicTopology : public Topology {
public:
    BasicTopology(int npus, int all_devices, Bandwidth link_bandwidth, Latency link_latency)
        : npus_count(npus), bandwidth(link_bandwidth), latency(link_latency) {
        for (DeviceId id = 0; id < all_devices; ++id) {
            devices.push_back(std::make_shared<Device>(Device{id}));
        }
    }
    ~BasicTopology() noexcept override = default;

    const int npus_count;

protected:
    Bandwidth bandwidth;
    Latency latency;
};

}  // namespace NetworkAnalytical
