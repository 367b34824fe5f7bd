// Meshes and tori of any number of dimensions, with dimension-order routing (XY for two dimensions).
//
//     Mesh2D [4, 2], NPU id = y * width + x; a message moves along x first, then along y:
//
//     4 --- 5 --- 6 --- 7        0 -> 7 passes 1, 2, 3
//     |     |     |     |
//     0 --- 1 --- 2 --- 3
//
// A torus adds wrap-around links; it takes the shorter way round, upwards if both are equal.
#include <algorithm>

#include "inputs/networks/shape.hpp"

namespace dse::network {

namespace {

class Grid final : public Shape {
public:
    Grid(std::vector<std::uint32_t> sizes, bool wraps) : sizes_(std::move(sizes)), wraps_(wraps) {
        for (const std::uint32_t size : sizes_) npus_ *= size;
    }

    std::uint32_t npus() const override { return npus_; }

    std::uint64_t most_edges() const override { return 2 * std::uint64_t{npus_} * sizes_.size(); }

    std::vector<Edge> edges() const override {
        std::vector<Edge> edges;
        for (std::uint32_t npu = 0; npu < npus_; ++npu) {
            std::uint32_t stride = 1;
            for (const std::uint32_t size : sizes_) {
                const std::uint32_t at = npu / stride % size;
                const std::uint32_t next = npu - at * stride + (at + 1) % size * stride;
                const bool wrap = at + 1 == size;
                // A wrap link between two neighbours would only double the one that is there.
                if (size > 1 && (!wrap || (wraps_ && size > 2))) {
                    edges.push_back({npu, next});
                    edges.push_back({next, npu});
                }
                stride *= size;
            }
        }
        return edges;
    }

    void route(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& devices) const override {
        std::uint32_t stride = 1;
        for (const std::uint32_t size : sizes_) {
            const std::uint32_t goal = to / stride % size;
            for (std::uint32_t at = from / stride % size; at != goal;) {
                const std::uint32_t next = goes_up(at, goal, size) ? (at + 1) % size : (at + size - 1) % size;
                from = from - at * stride + next * stride;
                at = next;
                devices.push_back(from);
            }
            stride *= size;
        }
    }

    std::uint32_t hops(std::uint32_t from, std::uint32_t to) const override {
        std::uint32_t total = 0;
        std::uint32_t stride = 1;
        for (const std::uint32_t size : sizes_) {
            const std::uint32_t a = from / stride % size;
            const std::uint32_t b = to / stride % size;
            const std::uint32_t direct = a > b ? a - b : b - a;
            total += wraps_ ? std::min(direct, size - direct) : direct;
            stride *= size;
        }
        return total;
    }

private:
    bool goes_up(std::uint32_t at, std::uint32_t goal, std::uint32_t size) const {
        if (!wraps_) return goal > at;
        const std::uint32_t up = (goal + size - at) % size;
        return up <= size - up;
    }

    std::vector<std::uint32_t> sizes_;
    bool wraps_;
    std::uint32_t npus_ = 1;
};

}  // namespace

std::unique_ptr<Shape> make_grid(std::vector<std::uint32_t> sizes, bool wraps) {
    return std::make_unique<Grid>(std::move(sizes), wraps);
}

}  // namespace dse::network
