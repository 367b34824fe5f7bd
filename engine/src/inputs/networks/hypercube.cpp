// A hypercube: neighbours differ in one bit of their id; routes correct the lowest differing bit first.
#include <bit>

#include "inputs/networks/shape.hpp"

namespace dse::network {

namespace {

class Hypercube final : public Shape {
public:
    explicit Hypercube(std::uint32_t npus) : npus_(npus) {}

    std::uint32_t npus() const override { return npus_; }

    std::uint64_t most_edges() const override {
        return std::uint64_t{npus_} * static_cast<unsigned>(std::bit_width(npus_));
    }

    std::vector<Edge> edges() const override {
        std::vector<Edge> edges;
        for (std::uint32_t npu = 0; npu < npus_; ++npu) {
            for (std::uint32_t bit = 1; bit < npus_; bit *= 2) edges.push_back({npu, npu ^ bit});
        }
        return edges;
    }

    void route(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& devices) const override {
        while (from != to) {
            from ^= 1U << std::countr_zero(from ^ to);
            devices.push_back(from);
        }
    }

    std::uint32_t hops(std::uint32_t from, std::uint32_t to) const override {
        return static_cast<std::uint32_t>(std::popcount(from ^ to));
    }

private:
    std::uint32_t npus_;
};

}  // namespace

std::unique_ptr<Shape> make_hypercube(std::uint32_t npus) { return std::make_unique<Hypercube>(npus); }

}  // namespace dse::network
