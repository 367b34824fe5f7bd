// Chunks, phases and the constants of the packet pump.
#include "simulator/collective_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "core/error.hpp"

namespace dse::simulator {

namespace {

/// Bytes at the start of the next phase.
std::uint64_t bytes_after(const PhasePlan& phase) {
    if (phase.algorithm == AlgorithmKind::kDoubleBinaryTree) return phase.bytes;
    if (phase.type == CollectiveType::kReduceScatter) return phase.bytes / phase.members;
    if (phase.type == CollectiveType::kAllGather) return phase.bytes * phase.members;
    return phase.bytes;
}

struct Leg {
    std::size_t entry;
    CollectiveType type;
    QueueUse use;
};

/// The order in which a collective visits its dimensions (spec, 5.4). `count` dimensions, ascending.
std::vector<Leg> legs_of(CollectiveType type, std::size_t count, CollectiveOptimization optimization) {
    std::vector<Leg> legs;
    if (type == CollectiveType::kAllGather) {
        for (std::size_t i = count; i-- > 0;) legs.push_back({i, type, QueueUse::kNormal});
        return legs;
    }
    const bool hierarchical =
        type == CollectiveType::kAllReduce && optimization == CollectiveOptimization::kLocalBandwidthAware;
    if (!hierarchical) {
        for (std::size_t i = 0; i < count; ++i) legs.push_back({i, type, QueueUse::kNormal});
        return legs;
    }
    for (std::size_t i = 0; i + 1 < count; ++i)
        legs.push_back({i, CollectiveType::kReduceScatter, QueueUse::kFirst});
    if (count > 0) legs.push_back({count - 1, CollectiveType::kAllReduce, QueueUse::kFirst});
    for (std::size_t i = count; i-- > 1;)
        legs.push_back({i - 1, CollectiveType::kAllGather, QueueUse::kLast});
    return legs;
}

}  // namespace

const CollectivePlan& CollectivePlanner::plan(CollectiveType type, std::uint64_t bytes,
                                              const Participants& participants) {
    const auto key = std::make_tuple(type, bytes, participants);
    const auto found = plans_.find(key);
    if (found != plans_.end()) return found->second;
    return plans_.emplace(key, make(type, bytes, participants)).first->second;
}

CollectivePlan CollectivePlanner::make(CollectiveType type, std::uint64_t bytes,
                                       const Participants& participants) const {
    const std::uint64_t splits = config_.preferred_dataset_splits;
    std::uint64_t chunk = bytes / splits;
    if (type == CollectiveType::kAllGather) {
        if (chunk == 0) {
            throw SimulationError("an all-gather of " + std::to_string(bytes) + " bytes cannot be cut into " +
                                  std::to_string(splits) +
                                  " chunks (preferred_dataset_splits); use at most as many splits as bytes");
        }
    } else if (chunk < address_.npus()) {
        chunk = address_.npus();
        bytes = splits * chunk;
    }
    CollectivePlan plan;
    plan.streams = (bytes + chunk - 1) / chunk;
    if (participants.full) {
        plan.phases = full_phases(type, chunk, participants.dimension_mask);
    } else if (participants.list_size > 1) {
        PhasePlan ring;
        ring.type = type;
        ring.membership = Membership::kList;
        ring.members = participants.list_size;
        ring.endpoint_delay_ns = 10;  // constant in the reference, whatever `endpoint-delay` says
        ring.bytes = chunk;
        ring.queue_use = legs_of(type, 1, config_.optimization).front().use;
        set_pump(ring, 0);
        plan.phases.push_back(ring);
    }
    return plan;
}

std::vector<PhasePlan> CollectivePlanner::full_phases(CollectiveType type, std::uint64_t chunk,
                                                      std::uint64_t mask) const {
    const std::vector<Algorithm>& algorithms = config_.algorithms(type);
    const bool ends_with_tree =
        !algorithms.empty() && algorithms.back().kind == AlgorithmKind::kDoubleBinaryTree;
    if (ends_with_tree && algorithms.size() < address_.dimensions()) {
        throw SimulationError("a list of algorithms that ends with doubleBinaryTree has " +
                              std::to_string(algorithms.size()) + " entries; it must cover all " +
                              std::to_string(address_.dimensions()) + " network dimensions");
    }
    std::vector<std::uint32_t> used;
    for (std::uint32_t d = 0; d < algorithms.size() && d < address_.dimensions(); ++d) {
        if (algorithms[d].over_all_ranks) {
            used.push_back(d);
            break;
        }
        if (d < 64 && ((mask >> d) & 1U) != 0) used.push_back(d);
    }
    std::vector<PhasePlan> phases;
    for (const Leg& leg : legs_of(type, used.size(), config_.optimization)) {
        const std::uint64_t bytes = phases.empty() ? chunk : bytes_after(phases.back());
        const std::uint32_t dimension = used[leg.entry];
        phases.push_back(phase(leg.type, algorithms[dimension], dimension, bytes));
        phases.back().queue_use = leg.use;
    }
    return phases;
}

PhasePlan CollectivePlanner::phase(CollectiveType type, const Algorithm& algorithm, std::uint32_t dimension,
                                   std::uint64_t bytes) const {
    PhasePlan phase;
    phase.algorithm = algorithm.kind;
    phase.type = type;
    phase.dimension = dimension;
    phase.membership = algorithm.over_all_ranks ? Membership::kAllRanks : Membership::kDimension;
    phase.members = algorithm.over_all_ranks ? address_.npus() : address_.size(dimension);
    phase.endpoint_delay_ns = config_.endpoint_delay_ns;
    phase.bytes = bytes;
    set_pump(phase, algorithm.window);
    return phase;
}

void CollectivePlanner::set_pump(PhasePlan& phase, std::uint32_t direct_window) const {
    const std::uint64_t others = phase.members - 1;
    const bool reduce_all = phase.type == CollectiveType::kAllReduce;
    const bool to_all = phase.type == CollectiveType::kAllToAll;
    phase.packet_bytes = phase.type == CollectiveType::kAllGather ? phase.bytes : phase.bytes / phase.members;
    switch (phase.algorithm) {
        case AlgorithmKind::kRing:
            phase.rest = others;
            phase.sends = reduce_all ? 2 * others : to_all ? phase.members * others / 2 : others;
            break;
        case AlgorithmKind::kDirect:
            phase.window = direct_window == 0 ? others : std::min<std::uint64_t>(direct_window, others);
            phase.rest = phase.window;
            phase.sends = reduce_all ? 2 * others : others;
            phase.gated = reduce_all;
            break;
        case AlgorithmKind::kHalvingDoubling:
            set_halving_doubling(phase);
            break;
        case AlgorithmKind::kDoubleBinaryTree:
            if (!std::has_single_bit(phase.members)) {
                throw SimulationError("doubleBinaryTree needs a power of two of NPUs; the dimension has " +
                                      std::to_string(phase.members));
            }
            phase.packet_bytes = phase.bytes;
            break;
    }
    phase.reduction_ns = config_.reduction_ns(phase.packet_bytes);
}

void CollectivePlanner::set_halving_doubling(PhasePlan& phase) const {
    if (phase.type == CollectiveType::kAllToAll) {
        throw SimulationError("halvingDoubling has no all-to-all; use ring or direct in all_to_all");
    }
    const double log_members = std::log2(phase.members);
    const bool gather = phase.type == CollectiveType::kAllGather;
    const bool reduce_all = phase.type == CollectiveType::kAllReduce;
    phase.rest = static_cast<std::uint64_t>(log_members - 1);
    phase.sends = static_cast<std::uint64_t>(reduce_all ? 2 * log_members : log_members);
    std::uint32_t offset = gather ? phase.members / 2 : 1;
    std::uint64_t bytes = gather ? phase.bytes : phase.bytes / 2;
    double factor = gather ? 0.5 : 2.0;
    const auto update = [&] {
        offset = static_cast<std::uint32_t>(offset * factor);
        bytes = static_cast<std::uint64_t>(static_cast<double>(bytes) / factor);
    };
    for (std::uint64_t k = 0; k < phase.sends + phase.window; ++k) {
        phase.steps.push_back({bytes, config_.reduction_ns(bytes), offset});
        update();
        if (offset == phase.members && reduce_all) {
            factor = 0.5;
            update();
        }
    }
}

}  // namespace dse::simulator
