// Every NPU has a link to every other one.
#include "inputs/networks/shape.hpp"

namespace dse::network {

namespace {

class FullyConnected final : public Shape {
public:
    explicit FullyConnected(std::uint32_t npus) : npus_(npus) {}

    std::uint32_t npus() const override { return npus_; }
    bool is_rotation_symmetric() const override { return true; }
    std::uint32_t hops(std::uint32_t, std::uint32_t) const override { return 1; }

    std::uint64_t most_edges() const override { return std::uint64_t{npus_} * (npus_ - 1); }

    std::vector<Edge> edges() const override {
        std::vector<Edge> edges;
        for (std::uint32_t from = 0; from < npus_; ++from) {
            for (std::uint32_t to = 0; to < npus_; ++to) {
                if (from != to) edges.push_back({from, to});
            }
        }
        return edges;
    }

    void route(std::uint32_t, std::uint32_t to, std::vector<std::uint32_t>& devices) const override {
        devices.push_back(to);
    }

private:
    std::uint32_t npus_;
};

}  // namespace

std::unique_ptr<Shape> make_fully_connected(std::uint32_t npus) {
    return std::make_unique<FullyConnected>(npus);
}

}  // namespace dse::network
