// A dragonfly: NPUs on routers, routers of a group fully connected, one global link between each two groups.
//
//     group 0: r0 = r1 = r2         global link of group i to group j starts at router
//               |                   ((j - i - 1) mod groups) / h, with h = ceil((groups - 1) / routers)
//     group 1: r0 = r1 = r2         minimal routing: NPU, router, (router,) (router,) router, NPU
#include "inputs/networks/shape.hpp"

namespace dse::network {

namespace {

class Dragonfly final : public Shape {
public:
    Dragonfly(std::uint32_t npus_per_router, std::uint32_t routers, std::uint32_t groups)
        : npus_per_router_(npus_per_router),
          routers_(routers),
          groups_(groups),
          global_links_((groups + routers - 2) / routers) {}

    std::uint32_t npus() const override { return npus_per_router_ * routers_ * groups_; }
    std::uint32_t devices() const override { return npus() + routers_ * groups_; }

    std::uint64_t most_edges() const override {
        const std::uint64_t inside = std::uint64_t{routers_} * routers_;
        return 2 * std::uint64_t{npus()} + (inside + groups_) * groups_;
    }

    std::vector<Edge> edges() const override {
        std::vector<Edge> edges;
        for (std::uint32_t npu = 0; npu < npus(); ++npu) {
            edges.push_back({npu, router_of(npu)});
            edges.push_back({router_of(npu), npu});
        }
        for (std::uint32_t group = 0; group < groups_; ++group) {
            for (std::uint32_t a = 0; a < routers_; ++a) {
                for (std::uint32_t b = 0; b < routers_; ++b) {
                    if (a != b) edges.push_back({router(group, a), router(group, b)});
                }
            }
            for (std::uint32_t other = 0; other < groups_; ++other) {
                if (other != group) edges.push_back({gateway(group, other), gateway(other, group)});
            }
        }
        return edges;
    }

    void route(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& devices) const override {
        const std::uint32_t source_group = group_of(from);
        const std::uint32_t target_group = group_of(to);
        devices.push_back(router_of(from));
        const auto visit = [&](std::uint32_t device) {
            if (devices.back() != device) devices.push_back(device);
        };
        if (source_group != target_group) {
            visit(gateway(source_group, target_group));
            visit(gateway(target_group, source_group));
        }
        visit(router_of(to));
        devices.push_back(to);
    }

private:
    std::uint32_t group_of(std::uint32_t npu) const { return npu / (npus_per_router_ * routers_); }
    std::uint32_t router_of(std::uint32_t npu) const { return npus() + npu / npus_per_router_; }
    std::uint32_t router(std::uint32_t group, std::uint32_t index) const {
        return npus() + group * routers_ + index;
    }
    /// The router of `group` that has the global link to `other`.
    std::uint32_t gateway(std::uint32_t group, std::uint32_t other) const {
        const std::uint32_t offset = (other + groups_ - group - 1) % groups_;
        return router(group, offset / global_links_);
    }

    std::uint32_t npus_per_router_, routers_, groups_, global_links_;
};

}  // namespace

std::unique_ptr<Shape> make_dragonfly(std::uint32_t npus_per_router, std::uint32_t routers,
                                      std::uint32_t groups) {
    return std::make_unique<Dragonfly>(npus_per_router, routers, groups);
}

}  // namespace dse::network
