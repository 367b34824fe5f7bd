// A workload ready to simulate: one flat trace per rank class, and what tells the ranks of a class apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "simulation/workloads/block_template.hpp"
#include "simulation/workloads/reference.hpp"

namespace dse::workload {

enum class NodeKind : std::uint8_t { kInvalid, kMemLoad, kMemStore, kCompute, kSend, kReceive, kCollective };

inline constexpr std::uint32_t kNoSlot = UINT32_MAX;

/// One node of a trace. Lists are ranges of the vectors of the Trace.
struct Node {
    double num_ops = 0.0;
    std::uint64_t bytes = 0;  ///< tensor size of compute and memory nodes, message or collective size else
    std::uint64_t duration_ns = 0;  ///< recorded duration, used in replay
    std::uint32_t tag = 0;          ///< send and receive; the rank's lane is added
    std::uint32_t peer = 0;         ///< send and receive; the rank's lane is added
    std::uint32_t slot = kNoSlot;   ///< collective: index into the rank's communicators
    std::uint32_t wait_count = 0;   ///< number of distinct nodes that this one waits for
    std::uint32_t child_begin = 0, child_end = 0;
    std::uint32_t read_begin = 0, write_begin = 0, write_end = 0;  ///< of Trace::mentions
    NodeKind kind = NodeKind::kInvalid;
    CollectiveType collective = CollectiveType::kAllReduce;
    bool on_cpu = false;

    bool operator==(const Node&) const = default;
};

/// A tensor named in `inputs` or `outputs` of a node, with the size given there.
struct TensorMention {
    std::uint32_t tensor;
    std::uint64_t bytes;

    bool operator==(const TensorMention&) const = default;
};

/// Sums over a trace, as conformance tables list them.
struct TraceCounts {
    std::uint64_t nodes = 0, compute = 0, collective = 0, send = 0, receive = 0;
    std::uint64_t num_ops = 0, tensor_bytes = 0, comm_bytes = 0;
    std::uint64_t data_deps = 0, control_deps = 0;

    bool operator==(const TraceCounts&) const = default;
};

/// The nodes of one rank class in ascending id, so that an index is a priority.
struct Trace {
    std::vector<Node> nodes;
    std::vector<std::uint32_t> children;
    std::vector<TensorMention> mentions;
    std::uint32_t tensor_count = 0;
    TraceCounts counts;
    std::uint32_t least_dimension_entries = UINT32_MAX;  ///< shortest `involve_dims` list
    std::string untracked_reason;    ///< why tensor lifetimes cannot be tracked, empty if they can
    std::string no_roofline_reason;  ///< why the roofline cannot be applied, empty if it can

    std::span<const std::uint32_t> children_of(const Node& node) const {
        return {children.data() + node.child_begin, children.data() + node.child_end};
    }
};

/// Ranks that communicate: an ordered list, or dimensions of the network. No members: all ranks.
struct Communicator {
    std::string name;
    std::vector<std::uint32_t> members;
    bool by_dimension = false;
    std::uint64_t dimension_mask = 0;  ///< bit d: dimension d takes part
};

/// Names and ids of nodes, for people; made on demand.
class NodeCatalog {
public:
    virtual ~NodeCatalog() = default;
    virtual std::uint64_t id(std::uint32_t rank, std::uint32_t node) const = 0;
    virtual std::string name(std::uint32_t rank, std::uint32_t node) const = 0;
    virtual std::string tensor_name(std::uint32_t rank, std::uint32_t tensor) const = 0;
    virtual std::size_t memory_bytes() const = 0;  ///< on the heap, about
};

template <typename Item>
std::size_t heap_bytes(const std::vector<Item>& items) {
    return items.capacity() * sizeof(Item);
}

struct Workload {
    std::shared_ptr<const std::vector<Trace>> traces;  ///< one per rank class
    std::vector<std::uint32_t> trace_of_rank;
    std::vector<std::uint32_t> lane_of_rank;  ///< added to peers and tags
    std::vector<Communicator> communicators;
    std::vector<std::uint32_t> slot_begin;  ///< per rank, into `communicator_of_slot`; one entry more
    std::vector<std::uint32_t> communicator_of_slot;
    std::uint64_t communicator_group_count = 0;  ///< entries of the groups file
    const Reference* read_as = nullptr;          ///< of traces that references read differently
    std::string unnumbered_group;                ///< a name in the groups file that is no number above 0
    std::shared_ptr<const NodeCatalog> catalog;

    /// Bytes that it holds on the heap with its catalog, without the overhead of allocations.
    std::size_t memory_bytes() const;

    std::uint32_t rank_count() const { return static_cast<std::uint32_t>(trace_of_rank.size()); }
    const Trace& trace(std::uint32_t rank) const { return (*traces)[trace_of_rank[rank]]; }
    std::span<const std::uint32_t> slots_of(std::uint32_t rank) const {
        return {communicator_of_slot.data() + slot_begin[rank],
                communicator_of_slot.data() + slot_begin[rank + 1]};
    }
};

inline std::size_t Workload::memory_bytes() const {
    std::size_t bytes = heap_bytes(trace_of_rank) + heap_bytes(lane_of_rank) + heap_bytes(communicators) +
                        heap_bytes(slot_begin) + heap_bytes(communicator_of_slot) + heap_bytes(*traces);
    for (const Trace& trace : *traces) {
        bytes += heap_bytes(trace.nodes) + heap_bytes(trace.children) + heap_bytes(trace.mentions);
    }
    for (const Communicator& communicator : communicators) bytes += heap_bytes(communicator.members);
    return bytes + (catalog ? catalog->memory_bytes() : 0);
}

}  // namespace dse::workload
