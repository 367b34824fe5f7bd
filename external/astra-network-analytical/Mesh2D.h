// A 2-D mesh with XY routing, in the shape of a one-dimensional topology (README.md).
#pragma once

#include "Topology.h"

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
class Mesh2D final : public Topology {
public:
    /// Connects every NPU with its neighbours; bandwidth and latency are those of each link, in the units of
    /// `connect`. Throws std::invalid_argument if a side is below 1, or there are more NPUs than an int
    /// counts.
    Mesh2D(int width, int height, Bandwidth bandwidth, Latency latency);

    /// All devices from `src` to `dest`, both included. Throws std::out_of_range if an NPU is not in the
    /// mesh.
    [[nodiscard]] Route route(DeviceId src, DeviceId dest) const override;

    [[nodiscard]] int width() const noexcept;
    [[nodiscard]] int height() const noexcept;

private:
    void check(DeviceId npu) const;

    int width_;
    int height_;
};

}  // namespace NetworkAnalytical
