// Redundant deliveries, and starts from the order of sends.
#include "collectives/schedules/prune.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace dse::synthesis {

namespace {

constexpr std::uint32_t kAtFirst = ~std::uint32_t{0};

/// (node, chunk) as one number.
std::uint64_t pruning_place_of(std::uint32_t node, std::uint32_t chunk) {
    return (std::uint64_t{node} << 32) | chunk;
}

/// When and by which send a chunk comes to a node.
struct Delivery {
    std::uint64_t place;
    Picoseconds at;
    std::uint32_t send;
};

/// The first delivery of every chunk to every node that gets or has it, by place.
std::vector<Delivery> first_deliveries(const Problem& problem, const std::vector<Send>& sends) {
    std::vector<Delivery> all;
    all.reserve(sends.size() + problem.holdings.size());
    for (const Holding& held : problem.holdings)
        all.push_back({pruning_place_of(held.node, held.chunk), held.at, kAtFirst});
    for (std::uint32_t i = 0; i < sends.size(); ++i) {
        const Link& link = problem.links[sends[i].link];
        all.push_back({pruning_place_of(link.to, sends[i].chunk), sends[i].start + link.arrival, i});
    }
    std::sort(all.begin(), all.end(), [](const Delivery& a, const Delivery& b) {
        return std::tuple(a.place, a.at, ~a.send) < std::tuple(b.place, b.at, ~b.send);
    });
    const auto is_later = [](const Delivery& a, const Delivery& b) { return a.place == b.place; };
    all.erase(std::unique(all.begin(), all.end(), is_later), all.end());
    return all;
}

const Delivery* delivery_to(const std::vector<Delivery>& deliveries, std::uint64_t place) {
    const auto found =
        std::lower_bound(deliveries.begin(), deliveries.end(), place,
                         [](const Delivery& d, std::uint64_t wanted) { return d.place < wanted; });
    return found != deliveries.end() && found->place == place ? &*found : nullptr;
}

std::vector<std::uint32_t> by_start(const std::vector<Send>& sends) {
    std::vector<std::uint32_t> order(sends.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::tuple(sends[a].start, a) < std::tuple(sends[b].start, b);
    });
    return order;
}

void update_time(const Problem& problem, Sends& sends) {
    sends.time = 0;
    for (const Send& send : sends.sends)
        sends.time = std::max(sends.time, send.start + problem.links[send.link].arrival);
}

/// The sends that brought the chunks of sends, kAtFirst for what was there.
std::vector<std::uint32_t> parents_of(const Problem& problem, const std::vector<Send>& sends,
                                      const std::vector<Delivery>& deliveries) {
    std::vector<std::uint32_t> parents;
    parents.reserve(sends.size());
    for (const Send& send : sends) {
        const Delivery* by =
            delivery_to(deliveries, pruning_place_of(problem.links[send.link].from, send.chunk));
        parents.push_back(by ? by->send : kAtFirst);
    }
    return parents;
}

}  // namespace

Sends pruned(const Problem& problem, Sends sends) {
    const std::vector<Delivery> deliveries = first_deliveries(problem, sends.sends);
    const std::vector<std::uint32_t> parents = parents_of(problem, sends.sends, deliveries);
    std::vector<bool> is_kept(sends.sends.size(), false);
    const auto keep = [&](std::uint32_t node, std::uint32_t chunk) {
        const Delivery* by = delivery_to(deliveries, pruning_place_of(node, chunk));
        for (std::uint32_t i = by ? by->send : kAtFirst; i != kAtFirst && !is_kept[i]; i = parents[i])
            is_kept[i] = true;
    };
    if (problem.everyone_wants_all) {
        for (std::uint32_t v = 0; v < problem.npus; ++v)
            for (std::uint32_t chunk = 0; chunk < problem.chunks; ++chunk) keep(v, chunk);
    }
    for (const Want& want : problem.wants) keep(want.node, want.chunk);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < sends.sends.size(); ++i)
        if (is_kept[i]) sends.sends[kept++] = sends.sends[i];
    sends.sends.resize(kept);
    update_time(problem, sends);
    return sends;
}

Sends compacted(const Problem& problem, Sends sends) {
    const std::vector<Delivery> deliveries = first_deliveries(problem, sends.sends);
    const std::vector<std::uint32_t> parents = parents_of(problem, sends.sends, deliveries);
    std::vector<Picoseconds> free_at = problem.free_from;
    free_at.resize(problem.links.size(), 0);
    for (const std::uint32_t i : by_start(sends.sends)) {
        Send& send = sends.sends[i];
        const Link& link = problem.links[send.link];
        Picoseconds there;
        if (parents[i] == kAtFirst) {
            there = delivery_to(deliveries, pruning_place_of(link.from, send.chunk))->at;
        } else {
            const Send& parent = sends.sends[parents[i]];
            there = parent.start + problem.links[parent.link].arrival;
        }
        send.start = std::max(free_at[send.link], there);
        free_at[send.link] = send.start + link.held;
    }
    update_time(problem, sends);
    return sends;
}

}  // namespace dse::synthesis
