// The packet pump of ring, direct and halving-doubling, and the steps of the double binary tree.
#include <bit>

#include "simulator/collective_engine.hpp"

namespace dse::simulator {

void CollectiveEngine::timer(std::uint32_t rank, const Timer& timer) {
    switch (timer.kind) {
        case TimerKind::kPacketReady:
        case TimerKind::kPacketReduced:
            credit(timer.object);
            break;
        case TimerKind::kReducingPacket:
            timers_.after(rank, timer.detail, {TimerKind::kPacketReduced, timer.object});
            break;
        default:
            step_tree(timer.object, timer.detail);
    }
}

void CollectiveEngine::received(std::uint32_t index) {
    Stream& stream = streams_[index];
    ++stream.received;
    const PhasePlan& phase = phase_of(stream);
    if (phase.algorithm == AlgorithmKind::kDoubleBinaryTree) {
        timers_.after(stream.rank, phase.endpoint_delay_ns, {TimerKind::kTree, index, 0});
    } else {
        create_packet(index);
    }
}

void CollectiveEngine::create_packet(std::uint32_t index) {
    Stream& stream = streams_[index];
    const PhasePlan& phase = phase_of(stream);
    const std::uint64_t packet = stream.created++;
    Timer timer{TimerKind::kPacketReady, index};
    if (phase.reduces(packet)) timer = {TimerKind::kReducingPacket, index, phase.reduction_of(packet)};
    timers_.after(stream.rank, phase.endpoint_delay_ns, timer);
}

bool CollectiveEngine::at_end(const Stream& stream) const {
    const PhasePlan& phase = phase_of(stream);
    return stream.sent == phase.sends && stream.credits == phase.window;
}

void CollectiveEngine::credit(std::uint32_t index) {
    Stream& stream = streams_[index];
    const PhasePlan& phase = phase_of(stream);
    ++stream.credits;
    const std::uint64_t others = phase.members - 1;
    if (phase.gated && phase.sends - stream.sent <= others) {
        if (stream.received < others) return;
        for (std::uint64_t i = 0; i < phase.window; ++i) try_send(index);
    } else {
        try_send(index);
    }
    if (at_end(streams_[index])) finish_phase(index);
}

void CollectiveEngine::try_send(std::uint32_t index) {
    Stream& stream = streams_[index];
    const PhasePlan& phase = phase_of(stream);
    if (stream.sent >= phase.sends || stream.credits == 0 || stream.sent == stream.created) return;
    const std::uint64_t packet = stream.sent++;
    --stream.credits;
    const std::uint64_t n = phase.members;
    const std::uint64_t own = stream.own_index;
    std::uint64_t ahead = 0;   // members between this rank and its destination, in index order
    std::uint64_t behind = 0;  // the same to its source
    switch (phase.algorithm) {
        case AlgorithmKind::kHalvingDoubling: {
            const std::uint64_t offset = phase.steps[packet].offset;
            const bool even = offset == 0 || own / offset % 2 == 0;
            ahead = behind = even ? offset % n : n - offset % n;
            break;
        }
        case AlgorithmKind::kDirect:
            ahead = packet % (n - 1) + 1;
            behind = n - ahead;
            break;
        default:
            ahead = 1;
            behind = n - 1;
    }
    if (phase.algorithm != AlgorithmKind::kHalvingDoubling && !place_of(stream).clockwise)
        std::swap(ahead, behind);
    const std::uint64_t bytes = phase.bytes_of(packet);
    send(index, member(stream, (own + ahead) % n), bytes);
    receive(index, member(stream, (own + behind) % n), bytes);
}

void CollectiveEngine::send(std::uint32_t index, std::uint32_t to, std::uint64_t bytes) {
    const Stream& stream = streams_[index];
    transport_.send({stream.tag, stream.rank, to, bytes}, {});
}

void CollectiveEngine::receive(std::uint32_t index, std::uint32_t from, std::uint64_t bytes) {
    const Stream& stream = streams_[index];
    transport_.receive({stream.tag, from, stream.rank, bytes},
                       {CallbackKind::kStreamReceive, stream.rank, index});
}

/// Position in a tree: all members but one form a perfect search tree, the one left is the root above it.
CollectiveEngine::TreeNeighbours CollectiveEngine::neighbours(const Stream& stream) const {
    const std::uint32_t n = phase_of(stream).members;
    const bool max_tree = place_of(stream).max_tree;
    const std::uint32_t root = max_tree ? n - 1 : 0;
    const std::uint32_t shift = max_tree ? 1 : 0;  // number in the search tree (from 1) = index + shift
    TreeNeighbours result;
    if (stream.own_index == root) {
        result.left = n / 2 - shift;
        return result;
    }
    const std::uint32_t number = stream.own_index + shift;
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

void CollectiveEngine::start_tree(std::uint32_t index) {
    const Stream& stream = streams_[index];
    const PhasePlan& phase = phase_of(stream);
    const TreeNeighbours near = neighbours(stream);
    if (near.left == kNil) {
        timers_.after(stream.rank, phase.endpoint_delay_ns, {TimerKind::kTree, index, 0});
        return;
    }
    receive(index, member(stream, near.left), phase.packet_bytes);
    if (near.right != kNil) receive(index, member(stream, near.right), phase.packet_bytes);
}

/// A wait is over. Leaves wait for the endpoint alone; others then reduce, and come here again.
void CollectiveEngine::step_tree(std::uint32_t index, std::uint64_t reduced) {
    Stream& stream = streams_[index];
    const PhasePlan& phase = phase_of(stream);
    const TreeNeighbours near = neighbours(stream);
    const std::uint64_t bytes = phase.packet_bytes;
    if (near.left == kNil) {
        if (stream.sent++ == 0) {
            send(index, member(stream, near.parent), bytes);
            receive(index, member(stream, near.parent), bytes);
        } else {
            finish_phase(index);
        }
        return;
    }
    if (reduced == 0) {
        timers_.after(stream.rank, phase.reduction_ns, {TimerKind::kTree, index, 1});
        return;
    }
    ++stream.credits;
    const bool root = near.parent == kNil;
    if (!root && stream.credits == 1) return;
    if (!root && stream.credits == 2) {
        send(index, member(stream, near.parent), bytes);
        receive(index, member(stream, near.parent), bytes);
        return;
    }
    send(index, member(stream, near.left), bytes);
    if (near.right != kNil) send(index, member(stream, near.right), bytes);
    finish_phase(index);
}

}  // namespace dse::simulator
