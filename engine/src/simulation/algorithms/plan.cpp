// Chunks, and the phases of each through the dimensions.
#include "simulation/algorithms/plan.hpp"

#include <string>

#include "base/error.hpp"
#include "simulation/algorithms/registry.hpp"

namespace dse::collectives {

namespace {

struct Leg {
    std::size_t entry;
    CollectiveType type;
    QueueUse use;
};

/// The order in which a collective visits its dimensions. `count` dimensions, ascending.
std::vector<Leg> legs_of(CollectiveType type, std::size_t count, Optimization optimization) {
    std::vector<Leg> legs;
    if (type == CollectiveType::kAllGather) {
        for (std::size_t i = count; i-- > 0;) legs.push_back({i, type, QueueUse::kNormal});
        return legs;
    }
    const bool hierarchical =
        type == CollectiveType::kAllReduce && optimization == Optimization::kLocalBandwidthAware;
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

const Plan& Planner::plan(CollectiveType type, std::uint64_t bytes, const Participants& participants) {
    const auto key = std::make_tuple(type, bytes, participants);
    const auto found = plans_.find(key);
    if (found != plans_.end()) return found->second;
    return plans_.emplace(key, make(type, bytes, participants)).first->second;
}

Plan Planner::make(CollectiveType type, std::uint64_t bytes, const Participants& participants) const {
    const std::uint64_t splits = settings_.preferred_dataset_splits;
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
    Plan plan;
    plan.streams = (bytes + chunk - 1) / chunk;
    if (participants.full) {
        plan.phases = full_phases(type, chunk, participants.dimension_mask);
        // Its schedule cuts the data by itself; parallel streams would share its links unnoticed.
        if (plan.phases.size() == 1 && plan.phases.front().synthesized != nullptr && plan.streams > 1) {
            plan = {1, full_phases(type, bytes, participants.dimension_mask)};
        }
    } else if (participants.communicator != UINT32_MAX) {
        Phase scheduled = list_phase(type, participants.list_size, bytes);
        scheduled.algorithm = algorithm_named("synthesized").algorithm;
        scheduled.endpoint_delay_ns = 0;
        set_packets(scheduled, 0);
        set_schedules(scheduled, {type, ScopeKind::kCommunicator, participants.communicator});
        plan = {1, {scheduled}};
    } else if (participants.list_size > 1) {
        const Choice choice = choice_in_group(type);
        Phase phase = list_phase(type, participants.list_size, chunk);
        phase.algorithm = choice.algorithm;
        set_packets(phase, choice.window);
        plan.phases.push_back(phase);
    }
    return plan;
}

Phase Planner::list_phase(CollectiveType type, std::uint32_t members, std::uint64_t bytes) const {
    Phase phase;
    phase.type = type;
    phase.membership = Membership::kList;
    phase.members = members;
    phase.endpoint_delay_ns = 10;  // constant in the reference, whatever `endpoint-delay` says
    phase.bytes = bytes;
    phase.queue_use = legs_of(type, 1, settings_.optimization).front().use;
    return phase;
}

Choice Planner::choice_in_group(CollectiveType type) const {
    const Choice ring = algorithm_named("ring");
    if (!settings_.reference->groups_run_the_listed_algorithm) return ring;
    const std::vector<Choice>& listed = settings_.choices(type);
    if (listed.empty()) {
        throw SimulationError("a group has no algorithm for a collective: the list of its type is empty (" +
                              std::string(settings_.reference->name) +
                              " then stops); name one, such as ring");
    }
    // A schedule that was made for the group has been taken before.
    if (listed.size() > 1 || listed.front().algorithm->name() == "synthesized") return ring;
    if (!listed.front().algorithm->runs_in_groups()) {
        throw SimulationError(std::string(listed.front().algorithm->name()) + " in a group crashes " +
                              std::string(settings_.reference->name) +
                              "; use ring, direct or halvingDoubling");
    }
    return listed.front();
}

std::vector<Phase> Planner::full_phases(CollectiveType type, std::uint64_t chunk, std::uint64_t mask) const {
    const std::vector<Choice>& choices = settings_.choices(type);
    if (!choices.empty() && choices.back().algorithm->needs_whole_list() &&
        choices.size() < address_.dimensions()) {
        throw SimulationError("a list of algorithms that ends with " +
                              std::string(choices.back().algorithm->name()) + " has " +
                              std::to_string(choices.size()) + " entries; it must cover all " +
                              std::to_string(address_.dimensions()) + " network dimensions");
    }
    std::vector<std::uint32_t> used;
    for (std::uint32_t d = 0; d < choices.size() && d < address_.dimensions(); ++d) {
        if (choices[d].over_all_ranks) {
            used.push_back(d);
            break;
        }
        if (d < 64 && ((mask >> d) & 1U) != 0) used.push_back(d);
    }
    std::vector<Phase> phases;
    for (const Leg& leg : legs_of(type, used.size(), settings_.optimization)) {
        const std::uint64_t bytes =
            phases.empty() ? chunk : phases.back().algorithm->bytes_after(phases.back());
        const std::uint32_t dimension = used[leg.entry];
        phases.push_back(phase(leg.type, choices[dimension], dimension, bytes));
        phases.back().queue_use = leg.use;
    }
    return phases;
}

Phase Planner::phase(CollectiveType type, const Choice& choice, std::uint32_t dimension,
                     std::uint64_t bytes) const {
    Phase phase;
    phase.algorithm = choice.algorithm;
    phase.type = type;
    phase.dimension = dimension;
    phase.membership = choice.over_all_ranks ? Membership::kAllRanks : Membership::kDimension;
    phase.members = choice.over_all_ranks ? address_.npus() : address_.size(dimension);
    phase.endpoint_delay_ns = settings_.endpoint_delay_ns;
    phase.bytes = bytes;
    set_packets(phase, choice.window);
    if (choice.algorithm->name() == "synthesized") {
        const bool all = choice.over_all_ranks;
        set_schedules(phase, {type, all ? ScopeKind::kAllRanks : ScopeKind::kDimension, all ? 0 : dimension});
    }
    return phase;
}

Participants Planner::list_of(CollectiveType type, std::uint32_t size, std::uint32_t communicator) const {
    const bool scheduled =
        size > 1 && settings_.synthesized_for({type, ScopeKind::kCommunicator, communicator}) != nullptr;
    return {false, size, 0, scheduled ? communicator : UINT32_MAX};
}

void Planner::set_schedules(Phase& phase, const Scope& scope) const {
    phase.synthesized = settings_.synthesized_for(scope);
    if (phase.synthesized != nullptr) return;
    throw SimulationError(
        "a collective asks for a synthesized algorithm, but no schedule has been made for it: the engine is "
        "given schedules of all-reduce, all-gather, reduce-scatter and all-to-all");
}

void Planner::set_packets(Phase& phase, std::uint32_t window) const {
    phase.packet_bytes = phase.type == CollectiveType::kAllGather ? phase.bytes : phase.bytes / phase.members;
    phase.algorithm->plan(phase, settings_, window);
    phase.reduction_ns = settings_.reduction_ns(phase.packet_bytes);
}

}  // namespace dse::collectives
