// All-gathers on meshes: each chunk takes the dimensions in turn; sends follow from a rule, and are not kept.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/cancellation.hpp"
#include "collectives/problem/problem.hpp"

namespace dse::synthesis {

inline constexpr std::uint8_t kNotSent = 255;

/// A grid of lines with links of one kind along each dimension, and the first dimension of each chunk.
struct Mesh {
    std::vector<std::uint32_t> sizes;  ///< the first dimension has successive numbers
    std::vector<Picoseconds> arrival;  ///< per dimension
    std::vector<Picoseconds> held;
    std::vector<std::uint8_t> first;  ///< per chunk, kNotSent or less; chunk c is at node c % nodes at first

    std::uint32_t nodes() const;
    std::uint32_t stride(std::uint32_t dimension) const;
};

/// A chunk leaves a node, or is at one, from a time on.
struct Timed {
    Picoseconds time = 0;
    std::uint32_t chunk = 0;
};

/// A direction along a line of a mesh: its nodes in the order in which chunks pass them.
struct Lane {
    std::uint32_t dimension = 0;
    std::uint32_t begin = 0;  ///< the first node
    bool downwards = false;   ///< towards smaller numbers

    std::uint32_t node(const Mesh& mesh, std::uint32_t place) const {
        const std::uint32_t step = place * mesh.stride(dimension);
        return downwards ? begin - step : begin + step;
    }
};

/// The sends of the rule (docs/synthesis.md). A chunk whose first dimension is r goes along the line of its
/// owner in r, from all nodes there along r + 1, and so on round: one leg for each dimension. Sends of
/// early legs keep their times; those of the next leg take a link first come, first served, in the gaps.
/// Only the last leg has as many sends as chunks times nodes, so that its lanes are made when asked for.
class MeshGather {
public:
    MeshGather(Mesh mesh, const Checkpoint& checkpoint);
    MeshGather(const MeshGather&) = default;
    virtual ~MeshGather() = default;

    const Mesh& mesh() const { return mesh_; }
    std::uint32_t legs() const { return static_cast<std::uint32_t>(mesh_.sizes.size()); }
    Picoseconds time() const { return time_; }

    /// Per dimension, direction (up, then down) and node: when the link carries its last chunk; -1: none.
    const std::vector<Picoseconds>& last_starts() const { return last_starts_; }

    /// How many sends there are along each dimension.
    const std::vector<std::uint64_t>& sends() const { return sends_; }

    /// The lanes of a dimension, both directions of each line.
    std::vector<Lane> lanes(std::uint32_t dimension) const;

    /// Sends of a leg but the last on the link by which a lane leaves a node, by start.
    std::span<const Timed> early(std::uint32_t leg, const Lane& lane, std::uint32_t node) const;

    /// Calls `visit` with the sends of a leg on each link of a lane, by place and start.
    using Visit = std::function<void(std::uint32_t place, std::span<const Timed> sends)>;
    virtual void visit(std::uint32_t leg, const Lane& lane, const Visit& visit) const;

private:
    std::vector<Timed> there(std::uint32_t leg, std::uint32_t dimension, std::uint32_t node) const;
    std::size_t index(std::uint32_t leg, const Lane& lane, std::uint32_t node) const;
    Picoseconds run(std::uint32_t leg, const Lane& lane, const Visit& visit) const;

    Mesh mesh_;
    std::vector<std::vector<std::uint32_t>> own_;  ///< per first dimension and node: chunks
    std::vector<std::vector<Timed>> early_;        ///< see `index`
    std::vector<Picoseconds> last_starts_;
    std::vector<std::uint64_t> sends_;
    Picoseconds time_ = 0;
};

}  // namespace dse::synthesis
