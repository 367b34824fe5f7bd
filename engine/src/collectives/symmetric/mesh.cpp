// Legs one after the other; a link serves what comes first, in the gaps that earlier legs leave.
#include "collectives/symmetric/mesh.hpp"

#include <algorithm>
#include <utility>

namespace dse::synthesis {

namespace {

/// Both sorted by time; what is in `a` goes first at equal times.
void merge(std::span<const Timed> a, std::span<const Timed> b, std::vector<Timed>& into) {
    into.resize(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), into.begin(),
               [](const Timed& x, const Timed& y) { return x.time < y.time; });
}

/// Turns times at which chunks are at a link into their starts on it, in the same order, around `busy`.
void serve(std::vector<Timed>& chunks, std::span<const Timed> busy, Picoseconds held) {
    Picoseconds free = 0;
    std::size_t next = 0;
    for (Timed& chunk : chunks) {
        Picoseconds start = std::max(chunk.time, free);
        for (; next < busy.size() && busy[next].time < start + held; ++next)
            start = std::max(start, busy[next].time + held);
        chunk.time = start;
        free = start + held;
    }
}

}  // namespace

std::uint32_t Mesh::nodes() const {
    std::uint32_t nodes = 1;
    for (const std::uint32_t size : sizes) nodes *= size;
    return nodes;
}

std::uint32_t Mesh::stride(std::uint32_t dimension) const {
    std::uint32_t stride = 1;
    for (std::uint32_t d = 0; d < dimension; ++d) stride *= sizes[d];
    return stride;
}

MeshGather::MeshGather(Mesh mesh, const Checkpoint& checkpoint) : mesh_(std::move(mesh)) {
    const std::uint32_t nodes = mesh_.nodes();
    own_.resize(std::size_t{legs()} * nodes);
    for (std::uint32_t chunk = 0; chunk < mesh_.first.size(); ++chunk)
        if (mesh_.first[chunk] != kNotSent)
            own_[std::size_t{mesh_.first[chunk]} * nodes + chunk % nodes].push_back(chunk);
    early_.resize(std::size_t{legs() - 1} * legs() * 2 * nodes);
    last_starts_.assign(std::size_t{legs()} * 2 * nodes, -1);
    sends_.assign(legs(), 0);
    for (std::uint32_t leg = 0; leg < legs(); ++leg) {
        for (std::uint32_t dimension = 0; dimension < legs(); ++dimension) {
            for (const Lane& lane : lanes(dimension)) {
                checkpoint.look();
                const Picoseconds end =
                    run(leg, lane, [&](std::uint32_t place, std::span<const Timed> sends) {
                        if (sends.empty()) return;
                        Picoseconds& last = last_starts_[index(0, lane, lane.node(mesh_, place))];
                        last = std::max(last, sends.back().time);
                        sends_[dimension] += sends.size();
                        if (leg + 1 == legs()) return;
                        early_[index(leg, lane, lane.node(mesh_, place))].assign(sends.begin(), sends.end());
                    });
                time_ = std::max(time_, end);
            }
        }
    }
}

std::vector<Lane> MeshGather::lanes(std::uint32_t dimension) const {
    const std::uint32_t size = mesh_.sizes[dimension], stride = mesh_.stride(dimension);
    std::vector<Lane> lanes;
    for (std::uint32_t node = 0; node < mesh_.nodes(); ++node) {
        if (node / stride % size != 0) continue;
        lanes.push_back({dimension, node, false});
        lanes.push_back({dimension, node + (size - 1) * stride, true});
    }
    return lanes;
}

std::size_t MeshGather::index(std::uint32_t leg, const Lane& lane, std::uint32_t node) const {
    const std::size_t row = (std::size_t{leg} * legs() + lane.dimension) * 2 + (lane.downwards ? 1 : 0);
    return row * mesh_.nodes() + node;
}

std::span<const Timed> MeshGather::early(std::uint32_t leg, const Lane& lane, std::uint32_t node) const {
    return early_[index(leg, lane, node)];
}

/// When the chunks that take a leg along a dimension are at a node, by the legs before.
std::vector<Timed> MeshGather::there(std::uint32_t leg, std::uint32_t dimension, std::uint32_t node) const {
    const std::uint32_t first = (dimension + legs() - leg) % legs();
    std::vector<Timed> found, more, both;
    for (const std::uint32_t chunk : own_[std::size_t{first} * mesh_.nodes() + node])
        found.push_back({0, chunk});
    for (std::uint32_t before = 0; before < leg; ++before) {
        const std::uint32_t along = (first + before) % legs(), stride = mesh_.stride(along);
        const std::uint32_t place = node / stride % mesh_.sizes[along];
        for (const bool downwards : {false, true}) {
            if (downwards ? place + 1 == mesh_.sizes[along] : place == 0) continue;
            const Lane lane{along, node, downwards};
            const auto sends = early(before, lane, downwards ? node + stride : node - stride);
            more.assign(sends.begin(), sends.end());
            for (Timed& send : more) send.time += mesh_.arrival[along];
            merge(found, more, both);
            std::swap(found, both);
        }
    }
    return found;
}

/// Makes the sends of each link of a lane; returns when the last has arrived.
Picoseconds MeshGather::run(std::uint32_t leg, const Lane& lane, const Visit& visit) const {
    const Picoseconds arrival = mesh_.arrival[lane.dimension], held = mesh_.held[lane.dimension];
    std::vector<Timed> coming, sends, busy, both;
    Picoseconds end = 0;
    for (std::uint32_t place = 0; place + 1 < mesh_.sizes[lane.dimension]; ++place) {
        const std::uint32_t node = lane.node(mesh_, place);
        merge(coming, there(leg, lane.dimension, node), sends);
        busy.clear();
        for (std::uint32_t before = 0; before < leg; ++before) {
            merge(busy, early(before, lane, node), both);
            std::swap(busy, both);
        }
        serve(sends, busy, held);
        visit(place, sends);
        std::swap(coming, sends);
        for (Timed& chunk : coming) chunk.time += arrival;
        if (!coming.empty()) end = std::max(end, coming.back().time);
    }
    return end;
}

void MeshGather::visit(std::uint32_t leg, const Lane& lane, const Visit& visit) const {
    if (leg + 1 == legs()) {
        run(leg, lane, visit);
        return;
    }
    for (std::uint32_t place = 0; place + 1 < mesh_.sizes[lane.dimension]; ++place)
        visit(place, early(leg, lane, lane.node(mesh_, place)));
}

}  // namespace dse::synthesis
