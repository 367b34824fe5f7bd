// Double binary tree: collectives take turns in two trees; each reduces to its root and broadcasts back.
//
//             0                              7
//             |                              |         n = 8; all members but the root form a perfect
//             4                              3         search tree below it, numbered in order
//          /     \                        /     \      .
//         2       6                      1       5     leaves wait for the endpoint, others reduce
//        / \     / \                    / \     / \    what they receive from each child
//       1   3   5   7                  0   2   4   6
//
//     Sanders, Speck & Träff 2009, "Two-tree algorithms for full bandwidth broadcast, reduction and scan".
#include <bit>
#include <string>

#include "base/error.hpp"
#include "simulation/algorithms/algorithm.hpp"
#include "simulation/algorithms/lockstep.hpp"

namespace dse::collectives {

namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;

struct Neighbours {
    std::uint32_t parent = kNobody, left = kNobody, right = kNobody;
};

/// Position in a tree: all members but one form a perfect search tree, the one left is the root above it.
Neighbours neighbours_of(const Member& member) {
    const std::uint32_t n = member.phase().members;
    const bool max_tree = !member.is_second_variant();
    const std::uint32_t root = max_tree ? n - 1 : 0;
    const std::uint32_t shift = max_tree ? 1 : 0;  // number in the search tree (from 1) = index + shift
    Neighbours result;
    if (member.index() == root) {
        result.left = n / 2 - shift;
        return result;
    }
    const std::uint32_t number = member.index() + shift;
    const int level = std::countr_zero(number);
    const std::uint32_t step = 1U << level;
    if (step > 1) {
        result.left = number - step / 2 - shift;
        result.right = number + step / 2 - shift;
    }
    const bool top = step == n / 2;
    const std::uint32_t above = ((number >> (level + 1)) & 1U) == 0 ? number + step : number - step;
    result.parent = top ? root : above - shift;
    return result;
}

void exchange(Member& member, std::uint32_t with, std::uint64_t bytes) {
    member.send(with, bytes);
    member.receive(with, bytes);
}

class DoubleBinaryTree final : public Algorithm {
public:
    std::string_view name() const override { return "doubleBinaryTree"; }
    bool has_form_over_all_ranks() const override { return false; }
    bool runs_in_groups() const override { return false; }
    bool needs_whole_list() const override { return true; }

    void plan(Phase& phase, const Settings&, std::uint32_t) const override {
        if (!std::has_single_bit(phase.members)) {
            throw SimulationError("doubleBinaryTree needs a power of two of NPUs; the dimension has " +
                                  std::to_string(phase.members));
        }
        phase.pumped = false;
        phase.alternates = true;
        phase.packet_bytes = phase.bytes;
    }

    std::uint64_t bytes_after(const Phase& phase) const override { return phase.bytes; }

    void begin(Member& member) const override {
        const Phase& phase = member.phase();
        const Neighbours near = neighbours_of(member);
        if (near.left == kNobody) {
            member.wait(phase.endpoint_delay_ns, 0);
            return;
        }
        member.receive(near.left, phase.packet_bytes);
        if (near.right != kNobody) member.receive(near.right, phase.packet_bytes);
    }

    /// A wait is over. Leaves wait for the endpoint alone; others then reduce, and come here again.
    void step(Member& member, std::uint64_t reduced) const override {
        const Phase& phase = member.phase();
        const Neighbours near = neighbours_of(member);
        const std::uint64_t bytes = phase.packet_bytes;
        if (near.left == kNobody) {
            if (member.progress()++ == 0) {
                exchange(member, near.parent, bytes);
            } else {
                member.finish();
            }
            return;
        }
        if (reduced == 0) {
            member.wait(phase.reduction_ns, 1);
            return;
        }
        const std::uint64_t messages = ++member.progress();
        const bool root = near.parent == kNobody;
        if (!root && messages == 1) return;
        if (!root && messages == 2) {
            exchange(member, near.parent, bytes);
            return;
        }
        member.send(near.left, bytes);
        if (near.right != kNobody) member.send(near.right, bytes);
        member.finish();
    }

    LockstepTime lockstep_time(const Phase&, const LockstepWires&) const override {
        throw NotSymmetric("the members of a tree do different things");
    }
};

}  // namespace

const Algorithm& double_binary_tree() {
    static const DoubleBinaryTree algorithm;
    return algorithm;
}

}  // namespace dse::collectives
