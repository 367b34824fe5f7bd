// All-gathers on meshes: their sends keep all rules, and the check finds each way to break one.
#include "collectives/symmetric/mesh.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "collectives/symmetric/mesh_check.hpp"
#include "tests/check.hpp"

namespace {

using namespace dse::synthesis;

/// 3 x 4 nodes, whose chunks begin in the one and the other dimension like the fields of a chessboard.
Mesh small() {
    Mesh mesh{{3, 4}, {7, 5}, {7, 3}, {}};
    for (std::uint32_t node = 0; node < mesh.nodes(); ++node)
        mesh.first.push_back(static_cast<std::uint8_t>((node % 3 + node / 3) % 2));
    return mesh;
}

using Change = std::function<void(std::vector<Timed>&)>;

/// The sends of the last leg on one link are others.
class Broken : public MeshGather {
public:
    explicit Broken(Change change) : MeshGather(small(), {}), change_(std::move(change)) {}

    void visit(std::uint32_t leg, const Lane& lane, const Visit& visit) const override {
        MeshGather::visit(leg, lane, [&](std::uint32_t place, std::span<const Timed> sends) {
            std::vector<Timed> changed(sends.begin(), sends.end());
            if (leg == 1 && lane.dimension == 1 && lane.begin == 0 && !lane.downwards && place == 1)
                change_(changed);
            visit(place, changed);
        });
    }

private:
    Change change_;
};

std::string found(const Change& change) { return mesh_violation(Broken(change), {}); }

void check_finds_what_is_broken() {
    CHECK_TEXT(found([](auto&) {}), "");
    CHECK_TEXT(found([](auto& sends) { sends.pop_back(); }),
               "rule 1: a link carries chunks longer than is said, from NPU 3");
    CHECK_TEXT(found([](auto& sends) { sends.erase(sends.begin()); }),
               "rule 3: a chunk leaves before it is there, from NPU 6");
    CHECK_TEXT(found([](auto& sends) { sends.back().chunk = sends.front().chunk; }),
               "rule 4: a chunk comes twice, by NPU 3");
    CHECK_TEXT(found([](auto& sends) { sends[1].time = sends[0].time; }),
               "rule 3: a chunk leaves before it is there, from NPU 3");
    CHECK_TEXT(found([](auto& sends) { sends[0].time = sends[1].time - 1; }),
               "rule 2: a link carries two chunks at a time, from NPU 3");
    CHECK_TEXT(found([](auto& sends) { sends.back().time += 1; }),
               "rule 1: a link carries chunks longer than is said, from NPU 3");
}

void check_counts_and_times() {
    const MeshGather gather(small(), {});
    CHECK(gather.sends()[0] + gather.sends()[1] == 12 * 11);
    const MeshGather line({{5}, {10}, {10}, {0, 0, 0, 0, 0}}, {});
    CHECK(line.time() == 40);
    CHECK(line.last_starts()[0] == 0 && line.last_starts()[3] == 30 && line.last_starts()[4] == -1);
}

}  // namespace

int main() {
    check_finds_what_is_broken();
    check_counts_and_times();
    if (failures == 0) std::printf("all checks passed\n");
    return failures == 0 ? 0 : 1;
}
