// Contributions to one chunk, by events in the order of time.
#include "collectives/trees/whole_sums.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <tuple>

namespace dse::synthesis {

namespace {

using Set = std::vector<std::uint64_t>;  // a bit per NPU

bool meet(const Set& one, const Set& other) {
    for (std::size_t i = 0; i < one.size(); ++i)
        if ((one[i] & other[i]) != 0) return true;
    return false;
}

}  // namespace

bool sums_are_whole(const Problem& problem, const std::vector<Send>& sends,
                    const std::vector<std::uint8_t>& adds) {
    std::vector<std::uint32_t> order(sends.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::tie(sends[a].start, sends[a].link) < std::tie(sends[b].start, sends[b].link);
    });
    using Event =
        std::tuple<Picoseconds, bool, std::uint32_t>;  // when, whether it leaves, place in the order
    std::vector<Event> events;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        const Send& send = sends[order[i]];
        events.emplace_back(send.start, true, i);
        events.emplace_back(send.start + problem.links[send.link].arrival, false, i);
    }
    std::sort(events.begin(), events.end());
    std::vector<Set> has(problem.npus, Set((problem.npus + 63) / 64, 0)), carried(sends.size());
    Set full = has.front();
    for (std::uint32_t v = 0; v < problem.npus; ++v) {
        has[v][v / 64] |= std::uint64_t{1} << (v % 64);
        full[v / 64] |= std::uint64_t{1} << (v % 64);
    }
    std::vector<std::deque<Set>> queues(std::size_t{2} * (problem.nodes - problem.npus));
    for (const auto& [time, leaves, place] : events) {
        const std::uint32_t s = order[place];
        const Link& link = problem.links[sends[s].link];
        const std::uint32_t node = leaves ? link.from : link.to;
        const bool is_npu = node < problem.npus;
        if (!leaves && is_npu) {
            if (adds[s] == 0 ? carried[s] != full : meet(has[node], carried[s])) return false;
            for (std::size_t i = 0; i < full.size(); ++i) has[node][i] |= carried[s][i];
            continue;
        }
        if (is_npu) {
            carried[s] = has[node];
            continue;
        }
        std::deque<Set>& queue = queues[2 * (node - problem.npus) + (adds[s] != 0 ? 1 : 0)];
        if (!leaves) {
            queue.push_back(carried[s]);
            continue;
        }
        if (queue.empty()) return false;
        carried[s] = queue.front();
        queue.pop_front();
    }
    return std::all_of(has.begin(), has.end(), [&](const Set& set) { return set == full; });
}

}  // namespace dse::synthesis
