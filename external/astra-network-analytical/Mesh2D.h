// A 2-D mesh with XY routing, as a basic topology of the congestion-aware network (README.md).
#pragma once

#include "BasicTopology.h"

namespace NetworkAnalytical {

/// width x height NPUs; NPU id = y * width + x. Neighbours in x and in y are linked, in both directions. Here
/// 4 x 3:
///
///      x  0     1     2     3
///   y
///   0     0 --- 1 --- 2 --- 3
///         |     |     |     |
///   1     4 --- 5 --- 6 --- 7
///         |     |     |     |
///   2     8 --- 9 -- 10 -- 11
///
/// A message moves along x until it is in the column of its destination, then along y: 1 -> 7 is 1, 2, 3, 7,
/// and 10 -> 5 is 10, 9, 5. No message turns from y to x, so the links that wait for each other never form a
/// circle.
class Mesh2D final : public BasicTopology {
public:
    /// Connects every NPU with its neighbours; bandwidth and latency are in the units of `connect`. Throws
    /// std::invalid_argument if a side is below 1, or there are more NPUs than an int counts.
    Mesh2D(int width, int height, Bandwidth link_bandwidth, Latency link_latency);
    ~Mesh2D() noexcept override = default;

    /// All devices from `src` to `dest`, both included. Both must be NPUs of the mesh: an assertion checks
    /// it.
    [[nodiscard]] Route route(DeviceId src, DeviceId dest) const noexcept override;

    [[nodiscard]] int width() const noexcept;
    [[nodiscard]] int height() const noexcept;

private:
    [[nodiscard]] bool has(DeviceId npu) const noexcept;

    int width_;
    int height_;
};

}  // namespace NetworkAnalytical
