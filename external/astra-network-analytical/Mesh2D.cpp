#include "Mesh2D.h"

#include <cassert>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

namespace NetworkAnalytical {

namespace {

int checked_area(int width, int height) {
    if (width < 1 || height < 1 || width > std::numeric_limits<int>::max() / height) {
        throw std::invalid_argument("Mesh2D of " + std::to_string(width) + " x " + std::to_string(height) +
                                    ": both sides must be at least 1, and their product an int");
    }
    return width * height;
}

// One step from `from` towards `to`.
int step(int from, int to) noexcept { return from < to ? 1 : -1; }

}  // namespace

// A mesh has no switches: as many devices as NPUs.
Mesh2D::Mesh2D(int width, int height, Bandwidth link_bandwidth, Latency link_latency)
    : BasicTopology(checked_area(width, height), width * height, link_bandwidth, link_latency),
      width_(width),
      height_(height) {
    constexpr bool bidirectional = true;
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            const DeviceId npu = y * width + x;
            if (x + 1 < width) {
                connect(npu, npu + 1, link_bandwidth, link_latency, bidirectional);
            }
            if (y + 1 < height) {
                connect(npu, npu + width, link_bandwidth, link_latency, bidirectional);
            }
        }
    }
}

Route Mesh2D::route(DeviceId src, DeviceId dest) const noexcept {
    assert(has(src) && has(dest));
    int x = src % width_;
    int y = src / width_;
    const int dest_x = dest % width_;
    const int dest_y = dest / width_;

    Route passed;
    passed.push_back(devices[static_cast<std::size_t>(src)]);
    while (x != dest_x) {
        x += step(x, dest_x);
        passed.push_back(devices[static_cast<std::size_t>(y * width_ + x)]);
    }
    while (y != dest_y) {
        y += step(y, dest_y);
        passed.push_back(devices[static_cast<std::size_t>(y * width_ + x)]);
    }
    return passed;
}

int Mesh2D::width() const noexcept { return width_; }

int Mesh2D::height() const noexcept { return height_; }

bool Mesh2D::has(DeviceId npu) const noexcept { return npu >= 0 && npu < width_ * height_; }

}  // namespace NetworkAnalytical
