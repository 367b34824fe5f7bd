// One switch with a link to and from every NPU: node, switch, node.
#include "inputs/networks/shape.hpp"

namespace dse::network {

namespace {

class Switch final : public Shape {
public:
    explicit Switch(std::uint32_t npus) : npus_(npus) {}

    std::uint32_t npus() const override { return npus_; }
    std::uint32_t devices() const override { return npus_ + 1; }
    bool is_rotation_symmetric() const override { return true; }
    std::uint32_t hops(std::uint32_t, std::uint32_t) const override { return 2; }

    std::uint64_t most_edges() const override { return 2 * std::uint64_t{npus_}; }

    std::vector<Edge> edges() const override {
        std::vector<Edge> edges;
        for (std::uint32_t i = 0; i < npus_; ++i) {
            edges.push_back({i, npus_});
            edges.push_back({npus_, i});
        }
        return edges;
    }

    void route(std::uint32_t, std::uint32_t to, std::vector<std::uint32_t>& devices) const override {
        devices.insert(devices.end(), {npus_, to});
    }

private:
    std::uint32_t npus_;
};

}  // namespace

std::unique_ptr<Shape> make_switch(std::uint32_t npus) { return std::make_unique<Switch>(npus); }

}  // namespace dse::network
