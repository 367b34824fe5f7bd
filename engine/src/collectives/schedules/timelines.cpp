// Gaps of links, and earliest ways through them.
#include "collectives/schedules/timelines.hpp"

#include <algorithm>
#include <functional>

namespace dse::synthesis {

namespace {

constexpr std::uint32_t kNoLink = ~std::uint32_t{0};

}  // namespace

Timelines::Timelines(const Problem& problem, const Sends& sends)
    : problem_(problem), slots_(problem.links), trees_(problem.chunks), held_(problem.chunks) {
    for (const Holding& held : problem.holdings) held_[held.chunk].push_back(held);
    if (!problem.everyone_wants_all) wants_.resize(problem.chunks);
    for (const Want& want : problem.wants) wants_[want.chunk].push_back(want.node);
    at_.resize(problem.nodes);
    start_.resize(problem.nodes);
    by_.resize(problem.nodes);
    seen_.assign(problem.nodes, 0);
    needed_.assign(problem.nodes, 0);
    fixed_.assign(problem.nodes, 0);
    for (const Send& send : sends.sends) add(send);
}

std::pair<Picoseconds, std::uint32_t> Timelines::last_arrivals() const {
    Picoseconds last = 0;
    std::uint32_t count = 0;
    for (std::uint32_t l = 0; l < problem_.links.size(); ++l) {
        if (slots_.on(l).empty()) continue;
        const Picoseconds at = slots_.on(l).back().start + problem_.links[l].arrival;
        if (at > last) count = 0;
        last = std::max(last, at);
        count += at == last;
    }
    return {last, count};
}

Sends Timelines::sends() const {
    Sends result;
    for (const std::vector<Send>& tree : trees_)
        result.sends.insert(result.sends.end(), tree.begin(), tree.end());
    result.time = last_arrivals().first;
    return result;
}

std::vector<Send> Timelines::latest() const {
    const Picoseconds last = last_arrivals().first;
    std::vector<Send> found;
    for (std::uint32_t l = 0; l < problem_.links.size(); ++l)
        if (!slots_.on(l).empty() && slots_.on(l).back().start + problem_.links[l].arrival == last)
            found.push_back({l, slots_.on(l).back().chunk, slots_.on(l).back().start});
    return found;
}

std::vector<std::uint32_t> Timelines::chunks_on(std::uint32_t link) const {
    std::vector<std::uint32_t> chunks;
    for (const LinkSlots::Slot& slot : slots_.on(link)) chunks.push_back(slot.chunk);
    return chunks;
}

void Timelines::add(const Send& send) {
    slots_.add(send);
    trees_[send.chunk].push_back(send);
}

void Timelines::take(const Send& send) {
    slots_.take(send);
    std::vector<Send>& tree = trees_[send.chunk];
    const auto found =
        std::find_if(tree.begin(), tree.end(), [&](const Send& s) { return s.link == send.link; });
    *found = tree.back();
    tree.pop_back();
}

void Timelines::remove(std::uint32_t chunk) {
    while (!trees_[chunk].empty()) {
        const Send send = trees_[chunk].back();
        take(send);
        changes_.push_back({send, false});
    }
}

void Timelines::remove_into(std::uint32_t chunk, std::uint32_t node) {
    const std::vector<Send>& tree = trees_[chunk];
    for (const Send& send : tree)
        if (problem_.links[send.link].from == node) return;
    const auto found = std::find_if(tree.begin(), tree.end(),
                                    [&](const Send& s) { return problem_.links[s.link].to == node; });
    if (found == tree.end()) return;
    const Send send = *found;
    take(send);
    changes_.push_back({send, false});
}

void Timelines::undo() {
    while (!changes_.empty()) {
        const Change change = changes_.back();
        changes_.pop_back();
        if (change.is_insertion)
            take(change.send);
        else
            add(change.send);
    }
}

/// The earliest start on a link, not before `from`.
Picoseconds Timelines::gap(std::uint32_t link, Picoseconds from) const {
    return slots_.earliest(link,
                           problem_.free_from.empty() ? from : std::max(from, problem_.free_from[link]));
}

void Timelines::offer(std::uint32_t node, Picoseconds at, std::uint32_t by) {
    if (seen_[node] == epoch_ && at >= at_[node]) return;
    seen_[node] = epoch_;
    at_[node] = at;
    by_[node] = by;
    heap_.emplace_back(at, node);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

bool Timelines::insert(std::uint32_t chunk, Picoseconds limit) {
    ++epoch_;
    heap_.clear();
    std::vector<std::uint32_t> ends;
    const auto need = [&](std::uint32_t node) {
        if (seen_[node] == epoch_ || needed_[node] == epoch_) return;
        needed_[node] = epoch_;
        ends.push_back(node);
    };
    const auto begin_at = [&](std::uint32_t node, Picoseconds at) {
        offer(node, at, kNoLink);
        fixed_[node] = epoch_;
    };
    for (const Holding& held : held_[chunk]) begin_at(held.node, held.at);
    for (const Send& send : trees_[chunk])
        begin_at(problem_.links[send.link].to, send.start + problem_.links[send.link].arrival);
    if (problem_.everyone_wants_all)
        for (std::uint32_t v = 0; v < problem_.npus; ++v) need(v);
    else
        for (const std::uint32_t v : wants_[chunk]) need(v);
    std::size_t missing = ends.size();
    while (missing > 0) {
        if (heap_.empty()) return false;
        const auto [at, node] = heap_.front();
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
        heap_.pop_back();
        if (at > at_[node]) continue;
        if (at >= limit) return false;
        missing -= needed_[node] == epoch_;
        for (std::uint32_t i = problem_.out_of.begin[node]; i < problem_.out_of.begin[node + 1]; ++i) {
            const std::uint32_t l = problem_.out_of.links[i];
            const std::uint32_t to = problem_.links[l].to;
            if (fixed_[to] == epoch_ || (seen_[to] == epoch_ && at_[to] <= at)) continue;
            const Picoseconds start = gap(l, at);
            if (seen_[to] == epoch_ && at_[to] <= start + problem_.links[l].arrival) continue;
            offer(to, start + problem_.links[l].arrival, l);
            start_[to] = start;
        }
    }
    for (std::uint32_t node : ends)
        while (by_[node] != kNoLink) {
            const Send send{by_[node], chunk, start_[node]};
            add(send);
            changes_.push_back({send, true});
            by_[node] = kNoLink;
            node = problem_.links[send.link].from;
        }
    return true;
}

}  // namespace dse::synthesis
