// A hash of a trace finds others like it; then all of their content is compared.
#include "simulation/workloads/distinct_traces.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <set>
#include <utility>

namespace dse::workload {

namespace {

bool is_message(const Node& node) { return node.kind == NodeKind::kSend || node.kind == NodeKind::kReceive; }

/// Takes a lane from the peers and tags of messages; what is below 0 wraps, and adds up again.
void take_lane(Trace& trace, std::uint32_t lane) {
    for (Node& node : trace.nodes) {
        if (!is_message(node)) continue;
        node.peer -= lane;
        node.tag -= lane;
    }
}

std::uint32_t base_of(const Trace& trace) {
    const auto first = std::find_if(trace.nodes.begin(), trace.nodes.end(), is_message);
    return first == trace.nodes.end() ? 0 : first->peer;
}

std::uint64_t hash_of(const Trace& trace, std::uint32_t base) {
    std::uint64_t hash = trace.nodes.size();
    for (const Node& node : trace.nodes) {
        const std::uint32_t lane = is_message(node) ? base : 0;
        for (const std::uint64_t value :
             {std::bit_cast<std::uint64_t>(node.num_ops), node.bytes, node.duration_ns,
              std::uint64_t{node.peer - lane}, std::uint64_t{node.tag - lane}, std::uint64_t{node.slot},
              std::uint64_t{node.child_begin}, std::uint64_t{node.wait_count}}) {
            hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
            hash ^= hash >> 32;
        }
    }
    return hash;
}

/// Whether two traces differ in nothing but names: also, the same cannot be tracked or timed in both.
bool do_the_same(const Trace& a, const Trace& b) {
    return a.nodes == b.nodes && a.children == b.children && a.mentions == b.mentions &&
           a.tensor_count == b.tensor_count && a.counts == b.counts &&
           a.least_dimension_entries == b.least_dimension_entries &&
           a.untracked_reason.empty() == b.untracked_reason.empty() &&
           a.no_roofline_reason.empty() == b.no_roofline_reason.empty();
}

}  // namespace

DistinctTraces::Place DistinctTraces::add(Trace trace) {
    const std::uint32_t base = base_of(trace);
    const std::uint64_t hash = hash_of(trace, base);
    const auto [first, last] = numbers_.equal_range(hash);
    for (auto entry = first; entry != last; ++entry) {
        const Trace& known = traces_[entry->second];
        const std::uint32_t known_base = base_of(known);
        if (base < known_base) continue;
        const std::uint32_t lane = base - known_base;
        take_lane(trace, lane);
        if (do_the_same(known, trace)) return {entry->second, lane};
        take_lane(trace, 0U - lane);
    }
    const auto number = static_cast<std::uint32_t>(traces_.size());
    numbers_.emplace(hash, number);
    traces_.push_back(std::move(trace));
    return {number, 0};
}

void DistinctTraces::release_to(Workload& workload) {
    if (!keep_their_lanes(workload)) {
        for (std::uint32_t rank = 0; rank < workload.rank_count(); ++rank) {
            std::uint32_t& lane = workload.lane_of_rank[rank];
            if (lane == 0) continue;
            Trace own = traces_[workload.trace_of_rank[rank]];
            take_lane(own, 0U - lane);
            workload.trace_of_rank[rank] = static_cast<std::uint32_t>(traces_.size());
            traces_.push_back(std::move(own));
            lane = 0;
        }
    }
    workload.traces = std::make_shared<const std::vector<Trace>>(std::move(traces_));
}

bool DistinctTraces::keep_their_lanes(const Workload& workload) const {
    std::vector<std::set<std::uint32_t>> peers(traces_.size());
    for (std::size_t number = 0; number < traces_.size(); ++number) {
        for (const Node& node : traces_[number].nodes) {
            if (is_message(node)) peers[number].insert(node.peer);
        }
    }
    for (std::uint32_t rank = 0; rank < workload.rank_count(); ++rank) {
        const std::uint32_t lane = workload.lane_of_rank[rank];
        for (const std::uint32_t peer : peers[workload.trace_of_rank[rank]]) {
            if (workload.lane_of_rank[peer + lane] != lane) return false;
        }
    }
    return true;
}

}  // namespace dse::workload
