// A ring of NPUs: the shorter way round, clockwise if both are equal.
//
//     0 --- 1 --- 2
//     |           |
//     5 --- 4 --- 3
#include <algorithm>

#include "inputs/networks/shape.hpp"

namespace dse::network {

namespace {

class Ring final : public Shape {
public:
    explicit Ring(std::uint32_t npus) : npus_(npus) {}

    std::uint32_t npus() const override { return npus_; }
    bool is_rotation_symmetric() const override { return true; }

    std::uint64_t most_edges() const override { return 2 * std::uint64_t{npus_}; }

    std::vector<Edge> edges() const override {
        std::vector<Edge> edges;
        for (std::uint32_t i = 0; i < npus_; ++i) {
            const std::uint32_t next = (i + 1) % npus_;
            edges.push_back({i, next});
            if (npus_ > 2) edges.push_back({next, i});
        }
        return edges;
    }

    void route(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& devices) const override {
        const std::uint32_t clockwise = (to + npus_ - from) % npus_;
        const std::uint32_t step = clockwise <= npus_ - clockwise ? 1 : npus_ - 1;
        while (from != to) {
            from = (from + step) % npus_;
            devices.push_back(from);
        }
    }

    std::uint32_t hops(std::uint32_t from, std::uint32_t to) const override {
        const std::uint32_t clockwise = (to + npus_ - from) % npus_;
        return std::min(clockwise, npus_ - clockwise);
    }

private:
    std::uint32_t npus_;
};

}  // namespace

std::unique_ptr<Shape> make_ring(std::uint32_t npus) { return std::make_unique<Ring>(npus); }

}  // namespace dse::network
