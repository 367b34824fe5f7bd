// A table of what is at a node, filled from the sends into it; nothing is taken from how they were made.
#include "collectives/symmetric/mesh_check.hpp"

#include <algorithm>
#include <cstddef>

namespace dse::synthesis {

namespace {

/// A chunk is at the node of an epoch from a time on.
struct There {
    Picoseconds at = 0;
    std::uint32_t epoch = 0;
};

class MeshCheck {
public:
    MeshCheck(const MeshGather& gather, const Checkpoint& checkpoint)
        : gather_(gather), mesh_(gather.mesh()), checkpoint_(checkpoint), nodes_(mesh_.nodes()) {
        there_.resize(mesh_.first.size());
        count_.assign(gather.legs(), 0);
        for (const std::uint8_t first : mesh_.first)
            if (first != kNotSent) ++count_[first];
    }

    std::string violation() {
        for (std::uint32_t dimension = 0; dimension < gather_.legs(); ++dimension) {
            const auto lanes = gather_.lanes(dimension);
            for (std::size_t i = 0; found_.empty() && i < lanes.size(); i += 2) {
                checkpoint_.look();
                for (std::uint32_t leg = 0; leg < gather_.legs(); ++leg)
                    check_line(leg, lanes[i], lanes[i + 1]);
            }
        }
        if (found_.empty() && latest_ != gather_.time())
            found_ = "rule 1: the last chunk comes at " + std::to_string(latest_) + " ps";
        return found_;
    }

private:
    /// Both lanes of a line; after the last leg every node of it has all chunks that end there.
    void check_line(std::uint32_t leg, const Lane& up, const Lane& down) {
        const std::uint32_t size = mesh_.sizes[up.dimension];
        const bool is_last = leg + 1 == gather_.legs();
        words_ = is_last ? (mesh_.first.size() + 63) / 64 : 0;
        seen_.assign(words_ * size, 0);
        come_.assign(size, 0);
        check_lane(leg, up);
        check_lane(leg, down);
        const std::uint32_t first = (up.dimension + gather_.legs() - leg) % gather_.legs();
        for (std::uint32_t place = 0; is_last && place < size; ++place)
            if (come_[place] != count_[first]) say("rule 4: a chunk never comes to ", up.node(mesh_, place));
    }

    void check_lane(std::uint32_t leg, const Lane& lane) {
        const Picoseconds arrival = mesh_.arrival[lane.dimension], held = mesh_.held[lane.dimension];
        const std::uint32_t size = mesh_.sizes[lane.dimension];
        begin(leg, lane, 0);
        gather_.visit(leg, lane, [&](std::uint32_t place, std::span<const Timed> sends) {
            const std::uint32_t node = lane.node(mesh_, place);
            for (const Timed& send : sends)
                if (const There& has = there_[send.chunk]; has.epoch != epoch_ || has.at > send.time)
                    say("rule 3: a chunk leaves before it is there, from ", node);
            if (leg + 1 == gather_.legs()) check_link(lane, node, sends, held);
            begin(leg, lane, place + 1);
            const std::uint32_t there = lane.downwards ? size - 2 - place : place + 1;
            for (const Timed& send : sends) come(send.chunk, send.time + arrival, there, node);
        });
    }

    /// Rule 2 for all legs on a link.
    void check_link(const Lane& lane, std::uint32_t node, std::span<const Timed> late, Picoseconds held) {
        starts_.clear();
        for (std::uint32_t leg = 0; leg + 1 < gather_.legs(); ++leg)
            for (const Timed& send : gather_.early(leg, lane, node)) starts_.push_back(send.time);
        std::sort(starts_.begin(), starts_.end());
        Picoseconds last = -1, free = 0;
        std::size_t next = 0;
        const auto take = [&](Picoseconds start) {
            if (start < free) say("rule 2: a link carries two chunks at a time, from ", node);
            last = start;
            free = start + held;
        };
        for (const Timed& send : late) {
            for (; next < starts_.size() && starts_[next] < send.time; ++next) take(starts_[next]);
            take(send.time);
        }
        for (; next < starts_.size(); ++next) take(starts_[next]);
        const std::size_t row = 2 * std::size_t{lane.dimension} + (lane.downwards ? 1 : 0);
        if (gather_.last_starts()[row * nodes_ + node] != last)
            say("rule 1: a link carries chunks longer than is said, from ", node);
    }

    /// Notes the chunks at a node of a lane: its own, and those that legs before have brought.
    void begin(std::uint32_t leg, const Lane& lane, std::uint32_t place) {
        ++epoch_;
        const std::uint32_t node = lane.node(mesh_, place), size = mesh_.sizes[lane.dimension];
        const std::uint32_t first = (lane.dimension + gather_.legs() - leg) % gather_.legs();
        const std::uint32_t there = lane.downwards ? size - 1 - place : place;
        for (std::size_t chunk = node; chunk < mesh_.first.size(); chunk += nodes_)
            if (mesh_.first[chunk] == first) enter(static_cast<std::uint32_t>(chunk), 0, there, lane, node);
        for (std::uint32_t before = 0; before < leg; ++before) {
            const std::uint32_t along = (first + before) % gather_.legs(), stride = mesh_.stride(along);
            const std::uint32_t digit = node / stride % mesh_.sizes[along];
            if (digit > 0) enter_from(before, {along, node, false}, node - stride, there, lane, node);
            if (digit + 1 < mesh_.sizes[along])
                enter_from(before, {along, node, true}, node + stride, there, lane, node);
        }
    }

    void enter_from(std::uint32_t leg, const Lane& by, std::uint32_t from, std::uint32_t there,
                    const Lane& lane, std::uint32_t node) {
        const Picoseconds arrival = mesh_.arrival[by.dimension];
        for (const Timed& send : gather_.early(leg, by, from))
            enter(send.chunk, send.time + arrival, there, lane, node);
    }

    /// Both lanes of a line begin with the same chunks, which have come once.
    void enter(std::uint32_t chunk, Picoseconds time, std::uint32_t there, const Lane& lane,
               std::uint32_t node) {
        if (!lane.downwards) {
            come(chunk, time, there, node);
        } else {
            there_[chunk] = {time, epoch_};
        }
    }

    void come(std::uint32_t chunk, Picoseconds time, std::uint32_t there, std::uint32_t node) {
        if (there_[chunk].epoch == epoch_) say("rule 4: a chunk comes twice, by ", node);
        there_[chunk] = {time, epoch_};
        latest_ = std::max(latest_, time);
        if (words_ == 0) return;
        std::uint64_t& word = seen_[words_ * there + chunk / 64];
        const std::uint64_t bit = std::uint64_t{1} << (chunk % 64);
        if ((word & bit) != 0) say("rule 4: a chunk comes twice, by ", node);
        word |= bit;
        ++come_[there];
    }

    void say(const char* rule, std::uint32_t node) {
        if (found_.empty()) found_ = rule + ("NPU " + std::to_string(node));
    }

    const MeshGather& gather_;
    const Mesh& mesh_;
    const Checkpoint& checkpoint_;
    std::uint32_t nodes_;
    std::uint32_t epoch_ = 0;
    std::size_t words_ = 0;
    Picoseconds latest_ = 0;
    std::string found_;
    std::vector<There> there_;         ///< per chunk, at the node looked at
    std::vector<std::size_t> count_;   ///< per first dimension: chunks
    std::vector<std::size_t> come_;    ///< per place of the line: chunks that have come
    std::vector<std::uint64_t> seen_;  ///< per place of the line: bits of these chunks
    std::vector<Picoseconds> starts_;  ///< of early legs on a link
};

}  // namespace

std::string mesh_violation(const MeshGather& gather, const Checkpoint& checkpoint) {
    return MeshCheck(gather, checkpoint).violation();
}

}  // namespace dse::synthesis
