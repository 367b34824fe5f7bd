// Schedules made tighter: what each send waits for, earliest starts, justification to both sides.
#include "collectives/schedules/compact.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <unordered_map>
#include <utility>

#include "collectives/problem/copy_engines.hpp"

namespace dse::synthesis {

namespace {

using Indices = std::vector<std::uint32_t>;

std::uint64_t node_and_chunk(std::uint32_t node, std::uint32_t chunk) {
    return (std::uint64_t{node} << 32) | chunk;
}

Indices sends_by_start(const std::vector<Send>& sends) {
    Indices order(sends.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return sends[a].start < sends[b].start; });
    return order;
}

std::uint64_t mixed_bits(std::uint64_t x) {  // splitmix64
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

/// A value per node and chunk: in a row, by hashes only where there are far more places than sends.
template <typename Value>
class PlaceMap {
public:
    PlaceMap(const Problem& problem, std::size_t sends, Value nothing)
        : chunks_(problem.chunks), nothing_(nothing) {
        const std::uint64_t places = std::uint64_t{problem.nodes} * problem.chunks;
        if (places <= 8 * (sends + problem.holdings.size()) + 1024) dense_.assign(places, nothing);
    }

    Value& at(std::uint32_t node, std::uint32_t chunk) {
        if (!dense_.empty()) return dense_[std::uint64_t{node} * chunks_ + chunk];
        return sparse_.try_emplace(node_and_chunk(node, chunk), nothing_).first->second;
    }

private:
    std::uint32_t chunks_;
    Value nothing_;
    std::vector<Value> dense_;
    std::unordered_map<std::uint64_t, Value> sparse_;
};

/// The sends that bring a chunk to a node: a list per place, by hashes only where places are many.
class ByPlace {
public:
    ByPlace(const std::vector<Link>& links, const std::vector<Send>& sends) : next_(sends.size(), kNone) {
        std::uint64_t nodes = 0;
        for (const Link& link : links)
            nodes = std::max<std::uint64_t>(nodes, std::max(link.from, link.to) + 1U);
        for (const Send& send : sends) chunks_ = std::max<std::uint64_t>(chunks_, send.chunk + 1U);
        if (nodes <= (8 * sends.size() + 1024) / std::max<std::uint64_t>(1, chunks_))
            first_.assign(nodes * chunks_, kNone);
        for (std::uint32_t s = 0; s < sends.size(); ++s) {
            const std::uint32_t to = links[sends[s].link].to;
            std::uint32_t& first =
                first_.empty() ? sparse_.try_emplace(node_and_chunk(to, sends[s].chunk), kNone).first->second
                               : first_[to * chunks_ + sends[s].chunk];
            next_[s] = first;
            first = s;
        }
    }

    template <typename Use>
    void for_each(std::uint32_t node, std::uint32_t chunk, Use use) const {
        std::uint32_t s = kNone;
        if (!first_.empty())
            s = first_[node * chunks_ + chunk];
        else if (const auto found = sparse_.find(node_and_chunk(node, chunk)); found != sparse_.end())
            s = found->second;
        for (; s != kNone; s = next_[s]) use(s);
    }

private:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    std::uint64_t chunks_ = 0;
    Indices next_, first_;
    std::unordered_map<std::uint64_t, std::uint32_t> sparse_;
};

Waits turned_waits(const Waits& waits) {
    const std::size_t count = waits.begin.size() - 1;
    Waits back{std::vector<std::uint32_t>(count + 1, 0), std::vector<std::uint32_t>(waits.sends.size())};
    for (std::uint32_t s : waits.sends) ++back.begin[s + 1];
    for (std::size_t s = 0; s < count; ++s) back.begin[s + 1] += back.begin[s];
    Indices next(back.begin.begin(), back.begin.end() - 1);
    for (std::uint32_t s = 0; s < count; ++s)
        for (std::uint32_t i = waits.begin[s]; i < waits.begin[s + 1]; ++i)
            back.sends[next[waits.sends[i]]++] = s;
    return back;
}

/// Places sends one by one behind what is on their link: of those that wait for nothing the least key first.
class Placing {
public:
    Placing(const std::vector<Link>& links, const std::vector<Send>& sends, const Waits& before,
            const Waits& after, const EngineLimits& engines)
        : links_(links), sends_(sends), before_(before), after_(after), engines_(engines) {}

    /// Starts and the time of all; `backwards` counts the time from the end, and both are of that clock.
    std::pair<std::vector<Picoseconds>, Picoseconds> place_all(const std::vector<Picoseconds>& key,
                                                               std::uint64_t seed, bool backwards) const {
        const Waits& before = backwards ? after_ : before_;
        const Waits& after = backwards ? before_ : after_;
        const std::size_t count = sends_.size();
        std::vector<Picoseconds> starts(count, 0), free_from(links_.size(), 0);
        std::vector<std::uint32_t> open(count);
        using Ready = std::pair<std::pair<Picoseconds, std::uint64_t>, std::uint32_t>;
        std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
        const auto push = [&](std::uint32_t s) {
            ready.push({{key[s], seed ? mixed_bits(seed ^ s) : s}, s});
        };
        for (std::uint32_t s = 0; s < count; ++s)
            if ((open[s] = before.begin[s + 1] - before.begin[s]) == 0) push(s);
        CopyEngines engines(engines_, links_, backwards);
        Picoseconds time = 0;
        while (!ready.empty()) {
            const std::uint32_t s = ready.top().second;
            ready.pop();
            const Link& link = links_[sends_[s].link];
            // Backwards a link is free for `held` before the next send starts, and arrivals come first.
            const Picoseconds lead = backwards ? link.arrival - link.held : 0;
            Picoseconds& free = free_from[sends_[s].link];
            starts[s] = std::max(starts[s], free - lead);
            if (engines.any()) {
                starts[s] = engines.earliest(sends_[s].link, starts[s]);
                engines.take(sends_[s].link, starts[s]);
            }
            free = starts[s] + lead + link.held;
            const Picoseconds end = starts[s] + link.arrival;
            time = std::max(time, end);
            for (std::uint32_t i = after.begin[s]; i < after.begin[s + 1]; ++i) {
                const std::uint32_t next = after.sends[i];
                starts[next] = std::max(starts[next], end);
                if (--open[next] == 0) push(next);
            }
        }
        return {std::move(starts), time};
    }

private:
    const std::vector<Link>& links_;
    const std::vector<Send>& sends_;
    const Waits& before_;
    const Waits& after_;
    const EngineLimits& engines_;
};

std::vector<Picoseconds> starts_of_sends(const std::vector<Send>& sends) {
    std::vector<Picoseconds> starts;
    starts.reserve(sends.size());
    for (const Send& send : sends) starts.push_back(send.start);
    return starts;
}

}  // namespace

std::vector<std::uint8_t> deliveries_needed(const Problem& problem, const std::vector<Send>& sends) {
    constexpr std::uint32_t kThere = 0xffffffffU;
    PlaceMap<std::pair<Picoseconds, std::uint32_t>> first(problem, sends.size(), {kNever, kThere});
    for (const Holding& holding : problem.holdings)
        first.at(holding.node, holding.chunk) = {holding.at, kThere};
    const Indices order = sends_by_start(sends);
    for (std::uint32_t s : order) {
        const Link& link = problem.links[sends[s].link];
        const Picoseconds arrival = sends[s].start + link.arrival;
        auto& known = first.at(link.to, sends[s].chunk);
        if (arrival < known.first) known = {arrival, s};
    }
    PlaceMap<std::uint8_t> needed(problem, sends.size(), 0);
    for (const Want& want : problem.wants) needed.at(want.node, want.chunk) = 1;
    std::vector<std::uint8_t> kept(sends.size(), 0);
    for (std::size_t i = order.size(); i-- > 0;) {
        const std::uint32_t s = order[i];
        const Link& link = problem.links[sends[s].link];
        if (first.at(link.to, sends[s].chunk).second != s) continue;
        const bool wanted =
            (problem.everyone_wants_all && link.to < problem.npus) || needed.at(link.to, sends[s].chunk) != 0;
        if (!wanted) continue;
        kept[s] = 1;
        needed.at(link.from, sends[s].chunk) = 1;
    }
    return kept;
}

Waits waits_of(const std::vector<Link>& links, const std::vector<Send>& sends) {
    const ByPlace arrivals(links, sends);
    Waits waits;
    waits.begin.reserve(sends.size() + 1);
    waits.begin.push_back(0);
    for (const Send& send : sends) {
        arrivals.for_each(links[send.link].from, send.chunk, [&](std::uint32_t s) {
            if (sends[s].start + links[sends[s].link].arrival <= send.start) waits.sends.push_back(s);
        });
        waits.begin.push_back(static_cast<std::uint32_t>(waits.sends.size()));
    }
    return waits;
}

std::vector<Picoseconds> earliest_starts(const std::vector<Link>& links, const std::vector<Send>& sends,
                                         const Waits& waits, const EngineLimits& engines) {
    const Waits after = turned_waits(waits);
    return Placing(links, sends, waits, after, engines).place_all(starts_of_sends(sends), 0, false).first;
}

std::vector<Picoseconds> justified_starts(const std::vector<Link>& links, const std::vector<Send>& sends,
                                          const Waits& waits, std::uint32_t rounds, std::uint64_t seed,
                                          Picoseconds enough, const EngineLimits& engines) {
    const Waits after = turned_waits(waits);
    const Placing placing(links, sends, waits, after, engines);
    auto best = placing.place_all(starts_of_sends(sends), 0, false);
    auto now = best;
    std::vector<Picoseconds> key(sends.size());
    for (std::uint32_t round = 0; round < rounds && best.second > enough; ++round) {
        const std::uint64_t salt = mixed_bits(seed + round) | 1U;
        for (std::uint32_t s = 0; s < sends.size(); ++s)
            key[s] = now.second - now.first[s] - links[sends[s].link].arrival;
        const auto late = placing.place_all(key, salt, true);
        // Every second round a send may overtake others by up to some of its own length.
        for (std::uint32_t s = 0; s < sends.size(); ++s) {
            const Picoseconds length = links[sends[s].link].arrival;
            key[s] = late.second - late.first[s] - length;
            if (round % 2 == 1)
                key[s] -= static_cast<Picoseconds>(mixed_bits(salt ^ s) % 1024) * (length / 512);
        }
        auto found = placing.place_all(key, salt, false);
        if (found.second <= best.second) best = found;
        now = found.second <= best.second + best.second / 64 ? std::move(found) : best;
    }
    return best.first;
}

}  // namespace dse::synthesis
