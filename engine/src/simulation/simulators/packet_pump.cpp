// The work of a phase: the packet pump, or the steps of an algorithm of its own.
#include "simulation/algorithms/algorithm.hpp"
#include "simulation/simulators/collective_engine.hpp"

namespace dse::simulator {

using collectives::Phase;

/// A stream as its algorithm sees it. Finds the stream again each time: others may be added meanwhile.
class CollectiveEngine::StreamMember final : public collectives::Member {
public:
    StreamMember(CollectiveEngine& engine, std::uint32_t stream) : engine_(engine), index_(stream) {}

    const Phase& phase() const override { return engine_.phase_of(stream()); }
    std::uint32_t index() const override { return stream().own_index; }
    bool is_second_variant() const override { return engine_.place_of(stream()).second_variant; }
    std::uint64_t& progress() override { return engine_.streams_[index_].credits; }
    void send(std::uint32_t to, std::uint64_t bytes) override {
        engine_.send(index_, engine_.member(stream(), to), bytes);
    }
    void receive(std::uint32_t from, std::uint64_t bytes) override {
        engine_.receive(index_, engine_.member(stream(), from), bytes);
    }
    void wait(Time delay_ns, std::uint64_t what) override {
        engine_.timers_.after(stream().rank, delay_ns, {TimerKind::kStep, index_, what});
    }
    void finish() override { engine_.finish_phase(index_); }

private:
    const Stream& stream() const { return engine_.streams_[index_]; }

    CollectiveEngine& engine_;
    std::uint32_t index_;
};

void CollectiveEngine::begin(std::uint32_t index) {
    const Phase& phase = phase_of(streams_[index]);
    if (phase.pumped) {
        for (std::uint64_t i = 0; i < phase.window; ++i) create_packet(index);
        return;
    }
    if (phase.synthesized != nullptr) {
        const Stream& stream = streams_[index];
        scheduled_.start({stream.communicator, stream.tag, stream.phase, member(stream, 0)}, phase,
                         {index, stream.rank, stream.own_index});
        return;
    }
    StreamMember member(*this, index);
    phase.algorithm->begin(member);
}

void CollectiveEngine::timer(std::uint32_t rank, const Timer& timer) {
    switch (timer.kind) {
        case TimerKind::kPacketReady:
        case TimerKind::kPacketReduced:
            credit(timer.object);
            break;
        case TimerKind::kReducingPacket:
            timers_.after(rank, timer.detail, {TimerKind::kPacketReduced, timer.object});
            break;
        default: {
            if (timer.kind == TimerKind::kCustomNode) {
                custom_ended(timer.object);
                return;
            }
            StreamMember member(*this, timer.object);
            phase_of(streams_[timer.object]).algorithm->step(member, timer.detail);
        }
    }
}

void CollectiveEngine::received(std::uint32_t index) {
    Stream& stream = streams_[index];
    ++stream.received;
    const Phase& phase = phase_of(stream);
    if (phase.pumped) {
        create_packet(index);
    } else {
        timers_.after(stream.rank, phase.endpoint_delay_ns, {TimerKind::kStep, index, 0});
    }
}

void CollectiveEngine::create_packet(std::uint32_t index) {
    Stream& stream = streams_[index];
    const Phase& phase = phase_of(stream);
    const std::uint64_t packet = stream.created++;
    Timer timer{TimerKind::kPacketReady, index};
    if (phase.reduces(packet)) timer = {TimerKind::kReducingPacket, index, phase.reduction_of(packet)};
    timers_.after(stream.rank, phase.endpoint_delay_ns, timer);
}

bool CollectiveEngine::at_end(const Stream& stream) const {
    const Phase& phase = phase_of(stream);
    return stream.sent == phase.sends && stream.credits == phase.window;
}

void CollectiveEngine::credit(std::uint32_t index) {
    Stream& stream = streams_[index];
    const Phase& phase = phase_of(stream);
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
    const Phase& phase = phase_of(stream);
    if (stream.sent >= phase.sends || stream.credits == 0 || stream.sent == stream.created) return;
    const std::uint64_t packet = stream.sent++;
    --stream.credits;
    const std::uint64_t n = phase.members;
    const std::uint64_t own = stream.own_index;
    const auto [ahead, behind] = phase.algorithm->partners(phase, own, packet, place_of(stream).clockwise);
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

}  // namespace dse::simulator
