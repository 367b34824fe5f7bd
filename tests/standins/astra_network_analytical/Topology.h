// A minimal stand-in, of our own writing, for the interface of a topology that Mesh2D is written for.
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
    explicit Topology(int devices) {
        for (DeviceId id = 0; id < devices; ++id) {
            devices_.push_back(std::make_shared<Device>(Device{id}));
        }
    }
    Topology(const Topology&) = delete;
    Topology& operator=(const Topology&) = delete;
    virtual ~Topology() = default;

    [[nodiscard]] virtual Route route(DeviceId src, DeviceId dest) const = 0;

    [[nodiscard]] std::size_t device_count() const { return devices_.size(); }
    [[nodiscard]] const std::map<std::pair<DeviceId, DeviceId>, Link>& links() const { return links_; }

protected:
    void connect(DeviceId a, DeviceId b, Bandwidth bandwidth, Latency latency, bool bidirectional) {
        if (a == b || !links_.emplace(std::pair{a, b}, Link{bandwidth, latency}).second) {
            throw std::logic_error("a link to itself, or a second one");
        }
        if (bidirectional) {
            connect(b, a, bandwidth, latency, false);
        }
    }

    [[nodiscard]] std::shared_ptr<Device> device(DeviceId id) const {
        return devices_.at(static_cast<std::size_t>(id));
    }

private:
    std::vector<std::shared_ptr<Device>> devices_;
    std::map<std::pair<DeviceId, DeviceId>, Link> links_;
};

}  // namespace NetworkAnalytical
