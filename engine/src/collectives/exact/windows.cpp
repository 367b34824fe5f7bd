// Ranges of time: shortest ways of each chunk, and one chunk at a time on each link.
#include "collectives/exact/windows.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

namespace dse::synthesis {

Windows::Windows(const Problem& problem, Picoseconds within)
    : problem_(problem),
      within_(within),
      first_(std::size_t{problem.chunks} * problem.links.size()),
      last_(2 * first_),
      has_(3 * first_),
      due_(has_ + std::size_t{problem.chunks} * problem.nodes),
      value_(due_ + std::size_t{problem.chunks} * problem.nodes, 0),
      before_(problem.links.size() * problem.chunks * problem.chunks, 0),
      wanted_(std::size_t{problem.chunks} * problem.nodes, 0),
      held_(wanted_.size(), 0),
      chunk_changed_(problem.chunks, 1),
      link_changed_(problem.links.size(), 1),
      blame_(wanted_.size(), 1.0) {
    std::fill_n(value_.begin() + static_cast<std::ptrdiff_t>(due_), wanted_.size(), within);
    for (const Holding& held : problem.holdings) {
        held_[place_of(held.chunk, held.node)] = 1;
        value_[has_ + place_of(held.chunk, held.node)] = held.at;
    }
    for (const Want& want : problem.wants) wanted_[place_of(want.chunk, want.node)] = 1;
    for (std::uint32_t chunk = 0; chunk < problem.chunks; ++chunk) {
        if (problem.everyone_wants_all)
            std::fill_n(wanted_.begin() + static_cast<std::ptrdiff_t>(place_of(chunk, 0)), problem.npus, 1);
        for (std::uint32_t link = 0; link < problem.links.size(); ++link) {
            const std::size_t send = send_of(chunk, link);
            value_[send] = held_[place_of(chunk, problem.links[link].to)] != 0 ? kNot : kOpen;
            if (!problem.free_from.empty()) value_[first_ + send] = problem.free_from[link];
            value_[last_ + send] = within - problem.links[link].arrival;
        }
    }
    find_alike();
}

/// Chunks with the same holders and the same destinations may come to one of these in the order of their
/// numbers.
void Windows::find_alike() {
    watched_.assign(problem_.chunks, 0);
    std::map<std::string, std::uint32_t> known;
    for (std::uint32_t chunk = 0; chunk < problem_.chunks; ++chunk) {
        std::string places;  // a digit a node
        bool is_there = true;
        for (std::uint32_t node = 0; node < problem_.nodes; ++node) {
            const std::size_t place = place_of(chunk, node);
            places.push_back(static_cast<char>('0' + 2 * held_[place] + wanted_[place]));
            is_there = is_there && (held_[place] == 0 || has(chunk, node) == 0);
        }
        const std::size_t wants = places.find('1');
        if (wants == std::string::npos || !is_there) continue;
        watched_[chunk] = static_cast<std::uint32_t>(wants);
        const auto [found, is_new] = known.try_emplace(std::move(places), chunk);
        if (!is_new) alike_.emplace_back(found->second, chunk);
        found->second = chunk;
    }
}

void Windows::set(std::size_t index, Picoseconds value) {
    trail_.emplace_back(index, value_[index]);
    value_[index] = value;
    changed_ = true;
}

void Windows::raise(std::size_t index, Picoseconds value) {
    if (value > value_[index]) set(index, value);
}

void Windows::lower(std::size_t index, Picoseconds value) {
    if (value < value_[index]) set(index, value);
}

void Windows::undo(std::size_t mark) {
    for (; trail_.size() > mark; trail_.pop_back()) {
        const auto [index, value] = trail_.back();
        if (index < value_.size())
            value_[index] = value;
        else
            before_[index - value_.size()] = 0;
    }
    std::fill(chunk_changed_.begin(), chunk_changed_.end(), std::uint8_t{0});
    std::fill(link_changed_.begin(), link_changed_.end(), std::uint8_t{0});
}

bool Windows::fail(std::uint32_t chunk, std::uint32_t node, double share) {
    blame_[place_of(chunk, node)] += share;
    return false;
}

bool Windows::send(std::uint32_t chunk, std::uint32_t link) {
    if (use(chunk, link) != kOpen) return use(chunk, link) == kSent;
    set(send_of(chunk, link), kSent);
    chunk_changed_[chunk] = link_changed_[link] = 1;
    const std::uint32_t to = problem_.links[link].to;
    for (std::uint32_t i = problem_.into.begin[to]; i < problem_.into.begin[to + 1]; ++i) {
        const std::uint32_t other = problem_.into.links[i];
        if (other != link && !leave_out(chunk, other)) return false;
    }
    return true;
}

bool Windows::leave_out(std::uint32_t chunk, std::uint32_t link) {
    if (use(chunk, link) != kOpen) return use(chunk, link) == kNot;
    set(send_of(chunk, link), kNot);
    chunk_changed_[chunk] = 1;
    return true;
}

bool Windows::send_before(std::uint32_t link, std::uint32_t chunk, std::uint32_t later) {
    if (is_before(link, later, chunk)) return false;
    const std::size_t pair = pair_of(link, chunk, later);
    if (before_[pair] != 0) return true;
    before_[pair] = 1;
    trail_.emplace_back(value_.size() + pair, 0);
    link_changed_[link] = 1;
    return true;
}

bool Windows::is_needed(std::uint32_t chunk, std::uint32_t node) const {
    if (wanted_[place_of(chunk, node)] != 0) return true;
    for (std::uint32_t i = problem_.out_of.begin[node]; i < problem_.out_of.begin[node + 1]; ++i)
        if (use(chunk, problem_.out_of.links[i]) == kSent) return true;
    return false;
}

bool Windows::is_open(std::uint32_t chunk, std::uint32_t node) const {
    if (held_[place_of(chunk, node)] != 0 || !is_needed(chunk, node)) return false;
    for (std::uint32_t i = problem_.into.begin[node]; i < problem_.into.begin[node + 1]; ++i)
        if (use(chunk, problem_.into.links[i]) == kSent) return false;
    return true;
}

void Windows::narrow_first(std::uint32_t chunk, std::uint32_t link, Picoseconds time) {
    if (time <= first(chunk, link)) return;
    set(first_ + send_of(chunk, link), time);
    chunk_changed_[chunk] = link_changed_[link] = 1;
}

void Windows::narrow_last(std::uint32_t chunk, std::uint32_t link, Picoseconds time) {
    if (time >= last(chunk, link)) return;
    set(last_ + send_of(chunk, link), time);
    chunk_changed_[chunk] = link_changed_[link] = 1;
}

bool Windows::settle() {
    for (bool is_settled = false; !is_settled;) {
        is_settled = true;
        for (std::uint32_t chunk = 0; chunk < problem_.chunks; ++chunk) {
            if (chunk_changed_[chunk] == 0) continue;
            is_settled = false;
            if (!settle_chunk(chunk)) return false;
        }
        for (std::uint32_t link = 0; link < problem_.links.size(); ++link) {
            if (link_changed_[link] == 0) continue;
            is_settled = false;
            link_changed_[link] = 0;
            if (!settle_link(link)) return false;
        }
    }
    return true;
}

bool Windows::settle_chunk(std::uint32_t chunk) {
    do {
        changed_ = false;
        find_arrivals(chunk);
        if (!settle_sends(chunk) || !settle_places(chunk)) return false;
    } while (changed_);
    chunk_changed_[chunk] = 0;
    for (const auto& [one, later] : alike_)
        if (one == chunk || later == chunk) settle_alike(one, later);
    return true;
}

/// Shortest ways over the links that may be used, each from when it can be.
void Windows::find_arrivals(std::uint32_t chunk) {
    arrival_.assign(problem_.nodes, kNever);
    heap_.clear();
    const auto offer = [&](std::uint32_t node, Picoseconds time) {
        if (time >= arrival_[node] || time > within_) return;
        arrival_[node] = time;
        heap_.emplace_back(time, node);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    };
    for (std::uint32_t node = 0; node < problem_.nodes; ++node)
        if (held_[place_of(chunk, node)] != 0) offer(node, has(chunk, node));
    while (!heap_.empty()) {
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
        const auto [time, node] = heap_.back();
        heap_.pop_back();
        if (time > arrival_[node]) continue;
        for (std::uint32_t i = problem_.out_of.begin[node]; i < problem_.out_of.begin[node + 1]; ++i) {
            const std::uint32_t link = problem_.out_of.links[i];
            if (use(chunk, link) != kNot)
                offer(problem_.links[link].to,
                      std::max(time, first(chunk, link)) + problem_.links[link].arrival);
        }
    }
    for (std::uint32_t node = 0; node < problem_.nodes; ++node)
        raise(has_ + place_of(chunk, node), std::min(arrival_[node], within_ + 1));
}

bool Windows::settle_sends(std::uint32_t chunk) {
    for (std::uint32_t link = 0; link < problem_.links.size(); ++link) {
        if (use(chunk, link) == kNot) continue;
        const auto [from, to, arrival, held] = problem_.links[link];
        narrow_first(chunk, link, has(chunk, from));
        narrow_last(chunk, link, due(chunk, to) - arrival);
        if (use(chunk, link) == kSent) {
            narrow_first(chunk, link, has(chunk, to) - arrival);
            lower(due_ + place_of(chunk, from), last(chunk, link));
            raise(has_ + place_of(chunk, to), first(chunk, link) + arrival);
        }
        if (first(chunk, link) > last(chunk, link) && !leave_out(chunk, link)) return fail(chunk, to);
    }
    return true;
}

bool Windows::settle_places(std::uint32_t chunk) {
    for (std::uint32_t node = 0; node < problem_.nodes; ++node)
        if (!settle_place(chunk, node)) return fail(chunk, node);
    return true;
}

bool Windows::settle_place(std::uint32_t chunk, std::uint32_t node) {
    const std::size_t place = place_of(chunk, node);
    if (wanted_[place] == 0) {  // of use until it can still be passed on
        Picoseconds latest = -1;
        for (std::uint32_t i = problem_.out_of.begin[node]; i < problem_.out_of.begin[node + 1]; ++i)
            if (use(chunk, problem_.out_of.links[i]) != kNot)
                latest = std::max(latest, last(chunk, problem_.out_of.links[i]));
        lower(due_ + place, latest);
    }
    if (held_[place] != 0) return !is_needed(chunk, node) || has(chunk, node) <= due(chunk, node);
    std::uint32_t count = 0, only = 0;
    Picoseconds latest = -1;
    for (std::uint32_t i = problem_.into.begin[node]; i < problem_.into.begin[node + 1]; ++i) {
        const std::uint32_t link = problem_.into.links[i];
        if (use(chunk, link) == kNot) continue;
        ++count;
        only = link;
        latest = std::max(latest, last(chunk, link) + problem_.links[link].arrival);
    }
    lower(due_ + place, latest);
    if (!is_needed(chunk, node)) return true;
    if (count == 0 || has(chunk, node) > due(chunk, node)) return false;
    return count > 1 || send(chunk, only);
}

void Windows::settle_alike(std::uint32_t chunk, std::uint32_t later) {
    const std::size_t place = place_of(chunk, watched_[chunk]), then = place_of(later, watched_[chunk]);
    if (value_[has_ + place] > value_[has_ + then]) {
        set(has_ + then, value_[has_ + place]);
        chunk_changed_[later] = 1;
    }
    if (value_[due_ + then] < value_[due_ + place]) {
        set(due_ + place, value_[due_ + then]);
        chunk_changed_[chunk] = 1;
    }
}

}  // namespace dse::synthesis
