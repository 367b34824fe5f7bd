// Lower bounds on the time of a collective; their proofs are where they are put together, in Python.
#include "collectives/bounds/bounds.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "collectives/bounds/capacity.hpp"

namespace dse::synthesis {

namespace {

// How many of many are looked at, as any gives a bound: moments, moments times links, targets, targets times
// nodes.
constexpr std::size_t kMostMoments = 4096;
constexpr std::size_t kMostWork = 1 << 17;
constexpr std::size_t kMostTargets = 16;
constexpr std::size_t kMostTargetWork = 1 << 15;

std::span<const std::uint32_t> links_at(const LinksPerNode& index, std::uint32_t node) {
    return {index.links.data() + index.begin[node], index.links.data() + index.begin[node + 1]};
}

/// The least time, and its node, which Dijkstra's algorithm looks at next.
using Reached = std::pair<Picoseconds, std::uint32_t>;
using Fronts = std::priority_queue<Reached, std::vector<Reached>, std::greater<>>;

/// Adds links to groups of links that are alike; few groups are expected.
class Groups {
public:
    void add(const AlikeLinks& link) {
        for (auto& group : groups_)
            if (std::tie(group.start, group.tail, group.arrival, group.held, group.limit) ==
                std::tie(link.start, link.tail, link.arrival, link.held, link.limit)) {
                group.count += link.count;
                return;
            }
        if (groups_.size() < kMost) {
            groups_.push_back(link);
            return;
        }
        others_.push_back(link);
    }

    std::vector<AlikeLinks> take() {
        groups_.insert(groups_.end(), others_.begin(), others_.end());
        return std::move(groups_);
    }

private:
    static constexpr std::size_t kMost = 64;  // more are not looked through
    std::vector<AlikeLinks> groups_;
    std::vector<AlikeLinks> others_;
};

/// Adds a link that carries nothing before `start`. If that is 0, its source has chunks of its own then; more
/// than these it cannot have before others bring it some.
template <typename To>
void add_link(To& groups, const TimedLinks& graph, const Link& link, Picoseconds start, Picoseconds tail) {
    AlikeLinks one{start, tail, link.arrival, link.held};
    if (start == 0 && graph.own > 0 && graph.own * link.held < graph.later[link.from]) {
        one.limit = graph.own;
        groups.add(one);
        one.limit = std::numeric_limits<std::int64_t>::max();
        one.start = graph.later[link.from];
        if (one.start == kNever) return;
    }
    groups.add(one);
}

/// Links one by one, for few.
struct Listed {
    std::vector<AlikeLinks> links;
    void add(const AlikeLinks& link) { links.push_back(link); }
};

/// The moments up to `end` at which links can bring one more chunk.
void add_moments(const std::vector<AlikeLinks>& groups, Picoseconds from, Picoseconds end,
                 std::vector<Picoseconds>& moments) {
    for (const AlikeLinks& group : groups) {
        Picoseconds moment = group.start + group.arrival;
        if (moment < from && group.held > 0)
            moment += (from - moment + group.held - 1) / group.held * group.held;
        const std::int64_t before = group.held > 0 ? (moment - group.start - group.arrival) / group.held : 0;
        for (std::int64_t i = before; i < group.limit && moment >= from && moment <= end; ++i) {
            if (moments.size() >= kMostMoments) return;
            moments.push_back(moment);
            moment += group.held;
            if (group.held == 0) break;
        }
    }
}

/// Links inside the set as chunks find them that enter at `moment` or later.
std::vector<AlikeLinks> not_before(std::vector<AlikeLinks> groups, Picoseconds moment) {
    for (AlikeLinks& group : groups) group.start = std::max(group.start, moment);
    return groups;
}

std::vector<AlikeLinks> joined(std::vector<AlikeLinks> groups, const std::vector<AlikeLinks>& more) {
    groups.insert(groups.end(), more.begin(), more.end());
    return groups;
}

/// When the wanting nodes can have all chunks, judged by those which enter at `moment` or later.
Picoseconds time_after(const EntryLinks& links, std::int64_t need, Picoseconds moment, Picoseconds from) {
    const std::int64_t all = need * links.wanting;
    const std::int64_t early = (links.wanting - 1) * delivered(links.to_wanting, moment - 1, all) +
                               links.wanting * delivered(links.to_others, moment - 1, all);
    if (early >= all) return from;
    return earliest(joined(not_before(links.inside, moment), links.to_wanting), all - early, from);
}

/// Dijkstra's algorithm from what is in `next`, into nodes that `may_enter` allows:
/// `found` the least to each node, with kNever or a bound at first.
template <typename MayEnter>
void spread(const TimedLinks& graph, bool reversed, MayEnter may_enter, std::vector<Picoseconds>& found,
            Fronts& next) {
    while (!next.empty()) {
        const auto [time, node] = next.top();
        next.pop();
        if (time > found[node]) continue;
        for (const std::uint32_t i : links_at(reversed ? graph.into : graph.out_of, node)) {
            const Link& link = graph.links[i];
            const std::uint32_t other = reversed ? link.from : link.to;
            const Picoseconds there = time + link.arrival;
            if (!may_enter(other) || there >= found[other]) continue;
            found[other] = there;
            next.emplace(there, other);
        }
    }
}

/// Per node of a set how far it is to `target` inside of it; kNever for others.
std::vector<Picoseconds> depths(const TimedLinks& graph, std::span<const std::uint8_t> inside,
                                std::uint32_t target) {
    std::vector<Picoseconds> found(graph.nodes, kNever);
    Fronts next;
    found[target] = 0;
    next.emplace(0, target);
    spread(graph, true, [&](std::uint32_t node) { return inside[node]; }, found, next);
    return found;
}

}  // namespace

void TimedLinks::index_links() {
    into = links_by(nodes, links, &Link::to);
    out_of = links_by(nodes, links, &Link::from);
}

void TimedLinks::limit_own(std::int64_t chunks) {
    own = chunks;
    later.assign(nodes, kNever);
    for (const Link& link : links) later[link.to] = std::min(later[link.to], link.arrival);
}

std::vector<Picoseconds> distances(const TimedLinks& graph, std::span<const std::uint32_t> sources,
                                   bool reversed) {
    std::vector<Picoseconds> found(graph.nodes, kNever);
    Fronts next;
    for (const std::uint32_t source : sources) {
        found[source] = 0;
        next.emplace(0, source);
    }
    const auto anywhere = [](std::uint32_t) { return true; };
    spread(graph, reversed, anywhere, found, next);
    return found;
}

std::vector<Picoseconds> entry_times(const TimedLinks& graph, std::span<const Picoseconds> first,
                                     std::span<const std::uint8_t> inside) {
    std::vector<Picoseconds> found(first.begin(), first.end());
    Fronts next;
    for (std::uint32_t node = 0; node < graph.nodes; ++node) {
        if (!inside[node]) continue;
        found[node] = kNever;
        for (const std::uint32_t i : links_at(graph.into, node)) {
            const Link& link = graph.links[i];
            if (!inside[link.from] && first[link.from] < kNever)
                found[node] = std::min(found[node], first[link.from] + link.arrival);
        }
        if (found[node] < kNever) next.emplace(found[node], node);
    }
    spread(graph, false, [&](std::uint32_t node) { return inside[node]; }, found, next);
    return found;
}

std::vector<std::uint32_t> joined_by(const TimedLinks& graph, Picoseconds longest) {
    std::vector<std::uint32_t> least(graph.nodes);
    for (std::uint32_t node = 0; node < graph.nodes; ++node) least[node] = node;
    const auto find = [&least](std::uint32_t node) {
        while (least[node] != node) node = least[node] = least[least[node]];
        return node;
    };
    for (const Link& link : graph.links) {
        if (link.arrival > longest) continue;
        const std::uint32_t a = find(link.from), b = find(link.to);
        least[std::max(a, b)] = std::min(a, b);
    }
    for (std::uint32_t node = 0; node < graph.nodes; ++node) least[node] = find(node);
    return least;
}

WayBound longest_way(const TimedLinks& graph, std::uint32_t sources) {
    WayBound best;
    if (graph.npus == 0) return best;
    const bool all = sources >= graph.npus;
    std::vector<std::uint8_t> seen(graph.npus, 0);
    std::uint32_t source = 0;
    for (std::uint32_t i = 0; i < std::min(sources, graph.npus); ++i) {
        if (all) source = i;
        seen[source] = 1;
        const std::uint32_t from[] = {source};
        const auto found = distances(graph, from, false);
        std::uint32_t farthest = source;  // from there the next ways are looked for, if not from everywhere
        for (std::uint32_t npu = 0; npu < graph.npus; ++npu) {
            if (found[npu] == kNever) continue;
            if (found[npu] > best.time) best = {found[npu], source, npu};
            if (found[npu] > found[farthest]) farthest = npu;
        }
        if (!all && seen[farthest])
            farthest = static_cast<std::uint32_t>((std::uint64_t{i} + 1) * 0x9e3779b1U % graph.npus);
        source = farthest;
    }
    return best;
}

NodeBound busiest_node(const TimedLinks& graph, std::span<const std::int64_t> need,
                       std::span<const Picoseconds> wait, bool reversed) {
    NodeBound best;
    Listed into;
    for (std::uint32_t node = 0; node < graph.nodes; ++node) {
        if (need[node] == 0) continue;
        into.links.clear();
        for (const std::uint32_t i : links_at(reversed ? graph.out_of : graph.into, node)) {
            const Link& link = graph.links[i];
            const Picoseconds waits = wait[reversed ? link.to : link.from];
            if (waits == kNever) continue;
            if (reversed)
                into.add({0, waits, link.arrival, link.held});
            else
                add_link(into, graph, link, waits, 0);
        }
        const Picoseconds time = earliest(into.links, need[node], best.time);
        if (time > best.time && time < kNever) best = {time, node};
    }
    return best;
}

Picoseconds all_deliveries(const TimedLinks& graph, std::int64_t need, std::span<const Picoseconds> wait,
                           bool npus_only) {
    Groups groups;
    for (const Link& link : graph.links)
        if ((!npus_only || link.to < graph.npus) && wait[link.from] != kNever)
            add_link(groups, graph, link, wait[link.from], 0);
    return earliest(groups.take(), need);
}

EntryLinks entry_links(const TimedLinks& graph, const Entry& entry) {
    Groups to_wanting, to_others, inside;
    EntryLinks found;
    for (std::uint32_t node = 0; node < graph.nodes; ++node) {
        if (!entry.inner[node]) continue;
        found.wanting += entry.wanting[node];
        for (const std::uint32_t i : links_at(graph.into, node)) {
            const Link& link = graph.links[i];
            if (entry.start[link.from] == kNever) continue;
            const Picoseconds start = entry.start[link.from];
            if (!entry.inner[link.from])
                add_link(entry.wanting[node] ? to_wanting : to_others, graph, link, start, 0);
            else if (entry.wanting[node])
                add_link(inside, graph, link, start, 0);
        }
    }
    found.to_wanting = to_wanting.take();
    found.to_others = to_others.take();
    found.inside = inside.take();
    return found;
}

Picoseconds cut(const EntryLinks& links, std::int64_t need) {
    return earliest(joined(links.to_wanting, links.to_others), need);
}

NodeBound deepest_node(const TimedLinks& graph, const Entry& entry, std::int64_t need) {
    NodeBound best;
    std::vector<std::uint32_t> targets;
    for (std::uint32_t node = 0; node < graph.nodes; ++node)
        if (entry.wanting[node]) targets.push_back(node);
    const std::size_t most = std::clamp<std::size_t>(kMostTargetWork / graph.nodes, 2, kMostTargets);
    const std::size_t stride = std::max<std::size_t>(1, targets.size() / most);
    for (std::size_t i = 0; i < targets.size(); i += stride) {
        const std::vector<Picoseconds> depth = depths(graph, entry.inner, targets[i]);
        Groups groups;
        for (std::uint32_t node = 0; node < graph.nodes; ++node) {
            if (!entry.inner[node] || depth[node] == kNever) continue;
            for (const std::uint32_t j : links_at(graph.into, node)) {
                const Link& link = graph.links[j];
                if (!entry.inner[link.from] && entry.start[link.from] != kNever)
                    add_link(groups, graph, link, entry.start[link.from], depth[node]);
            }
        }
        const Picoseconds time = earliest(groups.take(), need, best.time);
        if (time > best.time && time < kNever) best = {time, targets[i]};
    }
    return best;
}

EntryBound entry_window(const EntryLinks& links, std::int64_t need) {
    if (links.wanting == 0 || need == 0) return {};
    EntryBound best{cut(links, need), 0};
    if (best.time == kNever) return best;
    best.moment = best.time + 1;
    Picoseconds looked_to = 0;
    for (std::size_t done = 0; done < kMostMoments && looked_to <= best.time;) {
        std::vector<Picoseconds> moments;
        const Picoseconds end = best.time;
        add_moments(links.to_wanting, looked_to, end, moments);
        add_moments(links.to_others, looked_to, end, moments);
        std::sort(moments.begin(), moments.end());
        moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
        const std::size_t work = moments.size() * (links.inside.size() + links.to_wanting.size());
        const std::size_t stride = 1 + work / kMostWork;
        for (std::size_t i = 0; i < moments.size(); i += stride) {
            const Picoseconds moment = moments[i];
            const Picoseconds time = time_after(links, need, moment, best.time);
            if (time == kNever) return {kNever, moment};
            if (time > best.time) best = {time, moment};
        }
        done += moments.size() + 1;
        looked_to = end + 1;
    }
    return best;
}

}  // namespace dse::synthesis
