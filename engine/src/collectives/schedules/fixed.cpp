// Plays messages on shortest ways, by a queue of arrivals.
#include "collectives/schedules/fixed.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

#include "collectives/problem/ways.hpp"

namespace dse::synthesis {

namespace {

struct Passage {
    Picoseconds time;
    std::uint64_t order;
    std::uint32_t message;
    std::uint32_t done;  // hops behind it

    bool operator>(const Passage& other) const {
        return std::tie(time, order) > std::tie(other.time, other.order);
    }
};

/// The messages that follow each message: those of m are `next[begin[m] … begin[m + 1])`.
struct Followers {
    std::vector<std::uint32_t> begin, next;

    explicit Followers(const std::vector<Message>& messages) : begin(messages.size() + 2, 0) {
        for (const Message& message : messages)
            if (message.after >= 0) ++begin[static_cast<std::size_t>(message.after) + 2];
        for (std::size_t m = 2; m < begin.size(); ++m) begin[m] += begin[m - 1];
        next.resize(begin.back());
        for (std::uint32_t m = 0; m < messages.size(); ++m)
            if (messages[m].after >= 0) next[begin[static_cast<std::size_t>(messages[m].after) + 1]++] = m;
    }
};

}  // namespace

std::optional<Sends> play_messages(const Problem& problem, const std::vector<Message>& messages,
                                   std::uint64_t most_sends) {
    std::vector<NodePair> pairs;
    pairs.reserve(messages.size());
    for (const Message& message : messages) pairs.emplace_back(message.from, message.to);
    const ShortestWays ways = shortest_ways(problem, std::move(pairs));
    std::vector<std::uint32_t> route_of(messages.size());
    std::uint64_t sends = 0;
    for (std::size_t m = 0; m < messages.size(); ++m) {
        const std::size_t route = ways.at({messages[m].from, messages[m].to});
        const std::uint64_t hops = ways.begin[route + 1] - ways.begin[route];
        sends += hops;
        if (hops == 0 || sends > most_sends) return std::nullopt;
        route_of[m] = static_cast<std::uint32_t>(route);
    }
    const Followers followers(messages);
    std::priority_queue<Passage, std::vector<Passage>, std::greater<>> queue;
    std::uint64_t order = 0;
    for (std::uint32_t m = 0; m < messages.size(); ++m)
        if (messages[m].after < 0) queue.push({0, order++, m, 0});
    std::vector<Picoseconds> free_from(problem.links.size(), 0);
    Sends played;
    played.sends.reserve(sends);
    while (!queue.empty()) {
        const Passage passage = queue.top();
        queue.pop();
        const std::uint64_t at = ways.begin[route_of[passage.message]] + passage.done;
        if (at == ways.begin[route_of[passage.message] + 1]) {
            played.time = std::max(played.time, passage.time);
            for (std::uint32_t i = followers.begin[passage.message]; i < followers.begin[passage.message + 1];
                 ++i)
                queue.push({passage.time, order++, followers.next[i], 0});
            continue;
        }
        const std::uint32_t link = ways.links[at];
        const Picoseconds start = std::max(passage.time, free_from[link]);
        free_from[link] = start + problem.links[link].held;
        played.sends.push_back({link, messages[passage.message].chunk, start});
        queue.push({start + problem.links[link].arrival, order++, passage.message, passage.done + 1});
    }
    return played;
}

}  // namespace dse::synthesis
