// Pairs of dimensions that neighbours cross.
#include "simulation/simulators/understated.hpp"

#include <cstddef>
#include <optional>
#include <set>
#include <utility>

namespace dse::simulator {

namespace {

using Links = std::span<const SlowestLinks>;
using Pair = std::pair<std::size_t, std::size_t>;  ///< the dimension that is charged, and one that is crossed

std::set<Pair> slower_pairs(Links dimensions) {
    std::set<Pair> pairs;
    for (std::size_t low = 0; low < dimensions.size(); ++low) {
        for (std::size_t high = low + 1; high < dimensions.size(); ++high) {
            if (dimensions[high].bytes_per_ns < dimensions[low].bytes_per_ns ||
                dimensions[high].latency_ns > dimensions[low].latency_ns)
                pairs.emplace(low, high);
        }
    }
    return pairs;
}

/// Returns those of `wanted` that some rank and its neighbour cross.
std::set<Pair> crossed(Links dimensions, const std::set<Pair>& wanted, std::uint64_t npus,
                       const Neighbours& group) {
    std::set<Pair> found;
    for (std::uint64_t rank = 0; rank < npus && found.size() < wanted.size(); ++rank) {
        const bool is_last = rank / group.stride % group.degree == group.degree - 1;
        if (is_last && !group.is_ring) continue;
        std::uint64_t source = rank;
        std::uint64_t target = is_last ? rank - (group.degree - 1) * group.stride : rank + group.stride;
        std::optional<std::size_t> charged;
        for (std::size_t i = 0; i < dimensions.size(); ++i) {
            if (source % dimensions[i].npus != target % dimensions[i].npus) {
                if (charged && wanted.contains({*charged, i})) found.emplace(*charged, i);
                if (!charged) charged = i;
            }
            source /= dimensions[i].npus;
            target /= dimensions[i].npus;
        }
    }
    return found;
}

std::string listed(const std::set<std::size_t>& dimensions) {
    std::string text;
    for (const std::size_t dimension : dimensions) {
        if (!text.empty()) text += " and ";
        text += std::to_string(dimension);
    }
    return text;
}

}  // namespace

std::string understated_communication(Links dimensions, const Senders& senders) {
    const std::set<Pair> slower = slower_pairs(dimensions);
    if (slower.empty()) return "";
    std::uint64_t npus = 1;
    for (const SlowestLinks& each : dimensions) npus *= each.npus;
    std::vector<Neighbours> groups;
    for (const Neighbours& axis : senders.axes) {
        if (axis.degree > 1 && (axis.degree < npus || senders.has_logical_ring)) groups.push_back(axis);
    }
    if (senders.pp > 1) groups.push_back({"pp", senders.pp, npus / senders.pp, senders.stages_go_round});
    std::string text;
    for (const Neighbours& group : groups) {
        std::set<std::size_t> charged, skipped;
        for (const auto& [low, high] : crossed(dimensions, slower, npus, group)) {
            charged.insert(low);
            skipped.insert(high);
        }
        if (charged.empty()) continue;
        if (!text.empty()) text += "; ";
        text += std::string(group.axis) + " " + std::to_string(group.degree) + " is charged for dimension " +
                listed(charged) + ", not for " + listed(skipped);
    }
    return text;
}

}  // namespace dse::simulator
