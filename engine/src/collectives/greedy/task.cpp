// Preparing a problem for greedy searches.
#include "collectives/greedy/task.hpp"

#include <algorithm>
#include <tuple>

#include "base/error.hpp"

namespace dse::synthesis {

namespace {

void order_links(Task& task, const Problem& problem) {
    const std::size_t count = problem.links.size();
    task.number_of = problem.into.links;
    task.into = problem.into.begin;
    task.links.reserve(count);
    task.free_from.assign(count, 0);
    std::vector<std::uint32_t> place(count);
    for (std::uint32_t l = 0; l < count; ++l) {
        task.links.push_back(problem.links[task.number_of[l]]);
        if (!problem.free_from.empty()) task.free_from[l] = problem.free_from[task.number_of[l]];
        place[task.number_of[l]] = l;
    }
    task.out_of = problem.out_of.begin;
    for (const std::uint32_t link : problem.out_of.links) task.leaving.push_back(place[link]);
}

void order_holdings(Task& task, const Problem& problem) {
    std::vector<Holding> all = problem.holdings;
    const auto by_chunk = [](const Holding& h) { return std::tuple(h.node, h.chunk, h.at); };
    std::sort(all.begin(), all.end(),
              [&](const auto& a, const auto& b) { return by_chunk(a) < by_chunk(b); });
    const auto is_later = [](const Holding& a, const Holding& b) {
        return a.node == b.node && a.chunk == b.chunk;
    };
    all.erase(std::unique(all.begin(), all.end(), is_later), all.end());
    const auto by_time = [](const Holding& h) { return std::tuple(h.node, h.at, h.chunk); };
    std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return by_time(a) < by_time(b); });
    task.held_begin.assign(problem.nodes + 1, 0);
    for (const Holding& held : all) ++task.held_begin[held.node + 1];
    for (std::uint32_t v = 0; v < problem.nodes; ++v) task.held_begin[v + 1] += task.held_begin[v];
    task.holdings = std::move(all);
}

/// Marks what nodes are to get as not settled.
void mark_goals(Task& task, const Problem& problem, const BitRows& relayed) {
    task.settled = BitRows(problem.nodes, problem.chunks, !problem.everyone_wants_all);
    const std::size_t words = task.settled.words();
    if (!problem.everyone_wants_all) {
        task.wanted = BitRows(problem.npus, problem.chunks);
        for (const Want& want : problem.wants) {
            insert(task.wanted[want.node], want.chunk);
            erase(task.settled[want.node], want.chunk);
        }
    }
    for (std::uint32_t v = 0; v < problem.nodes; ++v) {
        Word* row = task.settled[v];
        if (!relayed.empty()) {
            if (v >= problem.npus && problem.everyone_wants_all) std::fill_n(row, words, ~Word{0});
            for (std::size_t w = 0; w < words; ++w) row[w] &= ~relayed[v][w];
        }
        if (problem.chunks % kWordBits != 0) row[words - 1] |= ~Word{0} << (problem.chunks % kWordBits);
    }
    for (const Holding& held : task.holdings) insert(task.settled[held.node], held.chunk);
}

}  // namespace

Task::Task(const Problem& given, const BitRows& relayed) : problem(&given) {
    order_links(*this, given);
    order_holdings(*this, given);
    mark_goals(*this, given, relayed);
    lacks.assign(given.nodes, 0);
    for (std::uint32_t v = 0; v < given.nodes; ++v) {
        const Word* row = settled[v];
        for (std::size_t w = 0; w < settled.words(); ++w) {
            const Word missing = ~row[w];
            const Word relays = v >= given.npus ? missing : wanted.empty() ? 0 : missing & ~wanted[v][w];
            const auto count = static_cast<std::uint32_t>(__builtin_popcountll(missing));
            lacks[v] += count;
            wanted_deliveries += count - static_cast<std::uint32_t>(__builtin_popcountll(relays));
            may_be_redundant |= relays != 0;
        }
    }
}

void throw_unreachable(const Problem& problem, std::uint32_t node, std::uint32_t chunk) {
    const std::string what = "chunk " + std::to_string(chunk);
    for (const Holding& held : problem.holdings)
        if (held.chunk == chunk)
            throw InputError("topology: no way from NPU " + std::to_string(held.node) + " to NPU " +
                             std::to_string(node) + ", which wants its " + what + "; add links between them");
    throw InputError("collective: NPU " + std::to_string(node) + " wants " + what +
                     ", which no NPU has at first; add it to the preconditions of one");
}

}  // namespace dse::synthesis
