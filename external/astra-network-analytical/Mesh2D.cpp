#include "Mesh2D.h"

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
int step(int from, int to) { return from < to ? 1 : -1; }

}  // namespace

Mesh2D::Mesh2D(int width, int height, Bandwidth bandwidth, Latency latency)
    : Topology(checked_area(width, height)), width_(width), height_(height) {
    constexpr bool bidirectional = true;
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            const DeviceId npu = y * width + x;
            if (x + 1 < width) {
                connect(npu, npu + 1, bandwidth, latency, bidirectional);
            }
            if (y + 1 < height) {
                connect(npu, npu + width, bandwidth, latency, bidirectional);
            }
        }
    }
}

Route Mesh2D::route(DeviceId src, DeviceId dest) const {
    check(src);
    check(dest);
    int x = src % width_;
    int y = src / width_;
    const int dest_x = dest % width_;
    const int dest_y = dest / width_;

    Route devices;
    devices.push_back(device(src));
    while (x != dest_x) {
        x += step(x, dest_x);
        devices.push_back(device(y * width_ + x));
    }
    while (y != dest_y) {
        y += step(y, dest_y);
        devices.push_back(device(y * width_ + x));
    }
    return devices;
}

int Mesh2D::width() const noexcept { return width_; }

int Mesh2D::height() const noexcept { return height_; }

void Mesh2D::check(DeviceId npu) const {
    if (npu < 0 || npu >= width_ * height_) {
        throw std::out_of_range("NPU " + std::to_string(npu) + " is not in a mesh of " +
                                std::to_string(width_) + " x " + std::to_string(height_));
    }
}

}  // namespace NetworkAnalytical
