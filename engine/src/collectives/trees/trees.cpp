// Packs trees for a time, deals out the chunks to them, and schedules the chunks along the trees.
#include "collectives/trees/trees.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "collectives/routes/routes.hpp"
#include "collectives/trees/tree_schedule.hpp"

namespace dse::synthesis {

namespace {

constexpr std::array kTreeNoises{0.1, 0.0, 0.3, 1.0};
constexpr int kMostWidenings = 40;  // of the time, each by an eighth: a hundredfold

void add_links(const std::vector<Track>& tracks, std::uint32_t t, std::vector<std::uint32_t>& links) {
    std::vector<std::uint32_t> stack{t};
    while (!stack.empty()) {
        const Track& track = tracks[stack.back()];
        stack.pop_back();
        if (track.link != kNoTrack) {
            links.push_back(track.link);
            continue;
        }
        stack.push_back(track.second);
        stack.push_back(track.first);
    }
}

/// Of links that lead from a root to all NPUs the ways that are first there; no node is reached twice, and
/// no way ends at a switch.
std::vector<std::uint32_t> first_ways(const Problem& problem, std::uint32_t root,
                                      const std::vector<std::uint32_t>& links) {
    std::vector<Picoseconds> at(problem.nodes, kNever);
    std::vector<std::uint32_t> by(problem.nodes, kNoTrack);
    at[root] = 0;
    for (bool changed = true; changed;) {  // links come almost in order: few rounds
        changed = false;
        for (const std::uint32_t l : links) {
            const Link& link = problem.links[l];
            if (at[link.from] == kNever || at[link.from] + link.arrival >= at[link.to]) continue;
            at[link.to] = at[link.from] + link.arrival;
            by[link.to] = l;
            changed = true;
        }
    }
    std::vector<std::uint8_t> is_used(problem.nodes, 0);
    for (std::uint32_t v = 0; v < problem.npus; ++v)
        for (std::uint32_t u = v; u != root && !is_used[u]; u = problem.links[by[u]].from) is_used[u] = 1;
    std::vector<std::uint32_t> order;
    for (std::uint32_t v = 0; v < problem.nodes; ++v)
        if (is_used[v]) order.push_back(v);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return at[a] < at[b]; });
    std::vector<std::uint32_t> tree;
    for (const std::uint32_t v : order) tree.push_back(by[v]);
    return tree;
}

struct Dealt {
    Routes routes;
    Turns turns;
};

/// Each tree carries as many chunks of its root as it has copies, spread evenly over `time`.
Dealt dealt_to(const Problem& problem, const std::vector<LinkTree>& trees, Picoseconds time) {
    std::vector<std::vector<std::uint32_t>> chunks(problem.nodes);
    for (const Holding& held : problem.holdings) chunks[held.node].push_back(held.chunk);
    std::vector<std::uint32_t> hop_to(problem.nodes);
    Dealt dealt;
    dealt.turns.assign(problem.chunks, 0);
    for (const LinkTree& tree : trees) {
        for (Amount i = 0; i < tree.copies; ++i) {
            const std::uint32_t chunk = chunks[tree.root].back();
            chunks[tree.root].pop_back();
            dealt.turns[chunk] = (time / tree.copies) * i + time / tree.copies / 2;
            hop_to[tree.root] = kHeld;
            for (const std::uint32_t l : tree.links) {
                const Link& link = problem.links[l];
                const std::uint32_t before = hop_to[link.from];
                hop_to[link.to] = static_cast<std::uint32_t>(dealt.routes.size());
                dealt.routes.push_back({l, chunk, before, 0});
            }
        }
    }
    return dealt;
}

/// The best of three orders.
Sends sends_along(const Problem& problem, const Dealt& dealt, Picoseconds limit, Random& random,
                  const Checkpoint& checkpoint) {
    Sends best = schedule_trees(problem, dealt.routes, nullptr, limit, checkpoint);
    for (const bool in_turns : {true, false}) {
        const Picoseconds to_beat = std::min(limit, best.time);
        Sends other = in_turns ? schedule_trees(problem, dealt.routes, &dealt.turns, to_beat, checkpoint)
                               : schedule_routes(problem, dealt.routes, 0, random, to_beat, checkpoint);
        if (other.time < to_beat) best = std::move(other);
    }
    return best;
}

FlowBound flow_bound_of(const Problem& problem, const Checkpoint& checkpoint) {
    const std::vector<Picoseconds> at_once(problem.nodes, 0);
    Supply supply;
    supply.of.assign(problem.nodes, 0);
    for (const Holding& held : problem.holdings) ++supply.of[held.node];
    for (std::uint32_t v = 0; v < problem.npus; ++v) supply.sinks.push_back(v);
    FlowBound bound =
        least_time_of_flows(problem.nodes, problem.links, at_once, at_once, supply, 0, checkpoint);
    if (bound.time != kNever) return bound;
    std::uint32_t outside = 0;
    while (bound.inside[outside] || supply.of[outside] == 0) ++outside;
    throw InputError("topology: no way from NPU " + std::to_string(outside) + " to NPU " +
                     std::to_string(bound.sink) + "; add links between them");
}

}  // namespace

std::optional<std::vector<LinkTree>> link_trees(const Problem& problem, Picoseconds time, double noise,
                                                Random& random, const Checkpoint& checkpoint) {
    TrackGraph graph = tracks_of(problem, time);
    if (!split_switches(graph, checkpoint)) return std::nullopt;
    const std::vector<Track> tracks = graph.tracks;
    const auto packed = pack_trees(std::move(graph), noise, random, checkpoint);
    if (!packed) return std::nullopt;
    std::vector<LinkTree> trees;
    for (const PackedTree& tree : *packed) {
        std::vector<std::uint32_t> links;
        for (const std::uint32_t t : tree.tracks) add_links(tracks, t, links);
        trees.push_back({tree.root, tree.copies, first_ways(problem, tree.root, links)});
    }
    return trees;
}

TreesFound search_trees(const Problem& problem, const Effort& effort, const Checkpoint& checkpoint) {
    TreesFound result;
    result.flow_time = flow_bound_of(problem, checkpoint).time;
    Picoseconds least = result.flow_time;  // for less, no trees were found
    const auto run = [&](std::uint32_t r, Picoseconds limit) -> std::optional<Columns> {
        Random random(effort.seed, r);
        // Trees that all are as short as they can be get into each other's way: most runs have some noise.
        const double noise = kTreeNoises[r / 2 % kTreeNoises.size()];
        Picoseconds time = least;
        if (r % 2 == 1) time += static_cast<Picoseconds>(random.unit() * static_cast<double>(limit - least));
        auto trees = link_trees(problem, time, noise, random, checkpoint);
        for (int i = 0; !trees && r == 0 && i < kMostWidenings; ++i) {
            time = least += least / 8 + 1;
            trees = link_trees(problem, time, noise, random, checkpoint);
        }
        if (!trees && r == 0)
            throw InputError(
                "topology: no trees were found that pass by its switches; take another "
                "synthesizer, such as synthesizer=restarts");
        if (!trees) return std::nullopt;
        Sends sends = sends_along(problem, dealt_to(problem, *trees, time), limit, random, checkpoint);
        if (sends.time >= limit) return std::nullopt;
        result.packed_for = time;
        result.trees = static_cast<std::uint32_t>(trees->size());
        return to_columns(sends);
    };
    result.found = search_runs(effort, checkpoint, run);
    return result;
}

}  // namespace dse::synthesis
