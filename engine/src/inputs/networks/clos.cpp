// A two-level Clos network (folded fat tree): NPUs on leaf switches, every leaf linked to every spine.
//
//        s0      s1            up-down routing: NPU, leaf, spine, leaf, NPU; inside a leaf: NPU, leaf, NPU
//       /  \    /  \           deterministic: spine = destination modulo spines (equal load for shifts)
//     l0     l1    l2          ecmp: spine = hash of source and destination
//    0 1    2 3    4 5
#include "base/flat_map.hpp"
#include "inputs/networks/shape.hpp"

namespace dse::network {

namespace {

class Clos final : public Shape {
public:
    Clos(std::uint32_t npus_per_leaf, std::uint32_t leaves, std::uint32_t spines, bool ecmp)
        : npus_per_leaf_(npus_per_leaf), leaves_(leaves), spines_(spines), ecmp_(ecmp) {}

    std::uint32_t npus() const override { return npus_per_leaf_ * leaves_; }
    std::uint32_t devices() const override { return npus() + leaves_ + spines_; }

    std::uint64_t most_edges() const override {
        return 2 * (std::uint64_t{npus()} + std::uint64_t{leaves_} * spines_);
    }

    std::vector<Edge> edges() const override {
        std::vector<Edge> edges;
        const auto connect = [&](std::uint32_t a, std::uint32_t b) {
            edges.push_back({a, b});
            edges.push_back({b, a});
        };
        for (std::uint32_t npu = 0; npu < npus(); ++npu) connect(npu, leaf_of(npu));
        for (std::uint32_t leaf = 0; leaf < leaves_; ++leaf) {
            for (std::uint32_t spine = 0; spine < spines_; ++spine)
                connect(npus() + leaf, spine_device(spine));
        }
        return edges;
    }

    void route(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& devices) const override {
        devices.push_back(leaf_of(from));
        if (leaf_of(from) != leaf_of(to)) {
            const std::uint64_t pair = static_cast<std::uint64_t>(from) << 32 | to;
            const std::uint64_t choice = ecmp_ ? mix_bits(pair) : to;
            devices.push_back(spine_device(static_cast<std::uint32_t>(choice % spines_)));
            devices.push_back(leaf_of(to));
        }
        devices.push_back(to);
    }

    std::uint32_t hops(std::uint32_t from, std::uint32_t to) const override {
        return leaf_of(from) == leaf_of(to) ? 2 : 4;
    }

private:
    std::uint32_t leaf_of(std::uint32_t npu) const { return npus() + npu / npus_per_leaf_; }
    std::uint32_t spine_device(std::uint32_t spine) const { return npus() + leaves_ + spine; }

    std::uint32_t npus_per_leaf_, leaves_, spines_;
    bool ecmp_;
};

}  // namespace

std::unique_ptr<Shape> make_clos(std::uint32_t npus_per_leaf, std::uint32_t leaves, std::uint32_t spines,
                                 bool ecmp) {
    return std::make_unique<Clos>(npus_per_leaf, leaves, spines, ecmp);
}

}  // namespace dse::network
