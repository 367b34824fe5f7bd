// Event list scheduling of sums and copies.
#include "collectives/trees/sum_trees_schedule.hpp"

#include <algorithm>
#include <functional>

namespace dse::synthesis {

Exchange exchange_of(const Problem& problem, const SumEnds& ends, const AddingTree& tree) {
    std::vector<Picoseconds> behind(tree.hops.size() + 1, 0);  // per gate
    std::uint32_t sums_into_root = 0;
    for (std::size_t i = tree.hops.size(); i-- > 0;) {
        const TreeHop& hop = tree.hops[i];
        behind[hop.gate] = std::max(behind[hop.gate], behind[i + 1] + problem.links[hop.link].arrival);
        sums_into_root += i < tree.sums && hop.gate == 0 ? 1 : 0;
    }
    Exchange found;
    if (sums_into_root == 0 || (sums_into_root == 1 && !ends.has(tree.root, true))) return found;
    Picoseconds most = -1;
    for (std::uint32_t x = 0; x < tree.sums; ++x) {
        const std::uint32_t other = problem.links[tree.hops[x].link].from;
        if (tree.hops[x].gate != 0 || !can_be_root(problem, other)) continue;
        for (std::uint32_t y = tree.sums; y < tree.hops.size(); ++y) {
            if (tree.hops[y].gate != 0 || problem.links[tree.hops[y].link].to != other) continue;
            if (behind[x + 1] + behind[y + 1] > most) found = {x, y};
            most = std::max(most, behind[x + 1] + behind[y + 1]);
        }
    }
    return found;
}

TreeTimes::TreeTimes(const Problem& problem, const std::vector<AddingTree>& trees, const Lanes& lanes,
                     const std::vector<Send>& reserved, const EndsOfChunks* exchanging)
    : problem_(problem),
      trees_(trees),
      lanes_(lanes),
      exchanging_(exchanging),
      queues_(problem.links.size()),
      free_at_(problem.links.size()) {
    if (!reserved.empty()) reserved_.resize(problem.links.size());
    for (const Send& send : reserved) reserved_[send.link].push_back(send.start);
    refresh();
}

void TreeTimes::refresh() {
    std::size_t hops = 0;
    first_.clear();
    for (const AddingTree& tree : trees_) {
        first_.push_back(hops);
        hops += tree.hops.size();
    }
    const std::size_t gates = hops + trees_.size();
    link_.resize(hops);
    inner_.resize(hops);
    outer_.resize(hops);
    is_sum_.resize(hops);
    inside_.resize(hops);
    sums_begin_.assign(gates + 1, 0);
    copies_begin_.assign(gates + 1, 0);
    hop_of_.assign(gates, kNoHop);
    // Hops by their inner gate, those of sums first.
    std::vector<std::uint32_t>& count = sums_begin_;
    std::size_t gate = 0, hop = 0;
    for (const AddingTree& tree : trees_) {
        for (std::size_t i = 0; i < tree.hops.size(); ++i, ++hop) {
            link_[hop] = lane_of(lanes_, tree.hops[i].link);
            inner_[hop] = static_cast<std::uint32_t>(gate + tree.hops[i].gate);
            outer_[hop] = static_cast<std::uint32_t>(gate + i + 1);
            hop_of_[outer_[hop]] = static_cast<std::uint32_t>(hop);
            is_sum_[hop] = i < tree.sums ? 1 : 0;
            ++count[inner_[hop] + 1];
            if (i < tree.sums) ++copies_begin_[inner_[hop]];
        }
        gate += tree.hops.size() + 1;
    }
    for (std::size_t g = 0; g < gates; ++g) count[g + 1] += count[g];
    next_inside_.assign(count.begin(), count.end() - 1);
    for (std::size_t h = 0; h < hops; ++h) inside_[next_inside_[inner_[h]]++] = static_cast<std::uint32_t>(h);
    for (std::size_t g = 0; g < gates; ++g) copies_begin_[g] += sums_begin_[g];
    if (exchanging_ != nullptr) find_exchanges();
}

void TreeTimes::find_exchanges() {
    exchanges_.assign(trees_.size(), {});
    exchanging_at_.assign(hop_of_.size(), kNoHop);
    others_.resize(trees_.size());
    others_by_.resize(trees_.size());
    others_at_.resize(trees_.size());
    for (std::uint32_t t = 0; t < trees_.size(); ++t) {
        const Exchange own = exchange_of(problem_, exchanging_->of(t), trees_[t]);
        if (!own.any()) continue;
        const auto first = static_cast<std::uint32_t>(first_[t]);
        exchanges_[t] = {first + own.sum, first + own.copy};
        for (const std::uint32_t gate : {first + t, outer_[first + own.sum], outer_[first + own.copy]})
            exchanging_at_[gate] = t;
    }
}

TreeStarts TreeTimes::forwards(const std::vector<Picoseconds>& keys, const Checkpoint& checkpoint,
                               Picoseconds limit) {
    TreeStarts made;
    made.time = run<false>(keys, checkpoint, made.starts, limit);
    return made;
}

TreeStarts TreeTimes::backwards(const std::vector<Picoseconds>& keys, const Checkpoint& checkpoint) {
    TreeStarts made;
    std::vector<Picoseconds> turned(keys.size());
    for (std::size_t h = 0; h < keys.size(); ++h) turned[h] = -keys[h] - problem_.links[link_[h]].arrival;
    made.time = run<true>(turned, checkpoint, made.starts, kNever);
    for (std::size_t h = 0; h < keys.size(); ++h)
        made.starts[h] = made.time - made.starts[h] - problem_.links[link_[h]].arrival;
    return made;
}

void TreeTimes::wait(std::uint32_t hop, Picoseconds key) {
    std::vector<Waiting>& queue = queues_[link_[hop]];
    queue.emplace_back(key, hop);
    std::push_heap(queue.begin(), queue.end(), std::greater<>());
    touched_.push_back(link_[hop]);
}

/// Whether a hop that starts now would meet a send of others; then the link is taken until that is over.
bool TreeTimes::is_reserved(std::uint32_t l, Picoseconds now) {
    if (reserved_.empty()) return false;
    const std::vector<Picoseconds>& starts = reserved_[l];
    const Picoseconds held = problem_.links[l].held;
    std::size_t& next = next_reserved_[l];
    while (next < starts.size() && starts[next] + held <= now) ++next;
    if (next == starts.size() || starts[next] >= now + held) return false;
    free_at_[l] = starts[next] + held;
    return true;
}

/// Links with the least keys first, as they compete for engines.
void TreeTimes::sort_touched() {
    std::erase_if(touched_, [&](std::uint32_t l) { return queues_[l].empty(); });
    std::sort(touched_.begin(), touched_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return queues_[a].front() < queues_[b].front(); });
}

/// Whether both ends of a link have an engine.
bool TreeTimes::has_engines(std::uint32_t l) const {
    const Link& link = problem_.links[l];
    const EngineLimits& most = problem_.engines;
    const auto is_free = [](const auto& limits, const auto& taken, std::uint32_t node) {
        return limits.empty() || limits[node] == 0 || taken[node] < limits[node];
    };
    return is_free(most.sends, sending_, link.from) && is_free(most.receives, receiving_, link.to);
}

void TreeTimes::take_engines(std::uint32_t l) {
    ++sending_[problem_.links[l].from];
    ++receiving_[problem_.links[l].to];
}

/// Gives an engine back; links of the node may go on.
void TreeTimes::free_engine(std::uint32_t node, bool of_sends, std::uint32_t hop, Picoseconds now) {
    --(of_sends ? sending_ : receiving_)[node];
    freed_by_[node] = hop;
    freed_at_[node] = now;
    const LinksPerNode& near = of_sends ? problem_.out_of : problem_.into;
    touched_.insert(touched_.end(), near.links.begin() + near.begin[node],
                    near.links.begin() + near.begin[node + 1]);
}

/// Lets the hops wait for their links that start at a gate.
template <bool kBackwards>
void TreeTimes::open(std::uint32_t gate, const std::vector<Picoseconds>& keys) {
    const std::uint32_t first = kBackwards ? sums_begin_[gate] : copies_begin_[gate];
    const std::uint32_t last = kBackwards ? copies_begin_[gate] : sums_begin_[gate + 1];
    std::uint32_t apart = kNoHop;  // has gone before
    if (!exchanges_.empty() && exchanging_at_[gate] != kNoHop)
        apart = kBackwards ? exchanges_[exchanging_at_[gate]].sum : exchanges_[exchanging_at_[gate]].copy;
    for (std::uint32_t i = first; i < last; ++i)
        if (inside_[i] != apart) wait(inside_[i], keys[inside_[i]]);
}

template <bool kBackwards>
Picoseconds TreeTimes::run(const std::vector<Picoseconds>& keys, const Checkpoint& checkpoint,
                           std::vector<Picoseconds>& starts, Picoseconds limit) {
    const auto hops = static_cast<std::uint32_t>(link_.size());
    starts.resize(hops);
    closed_.assign(sums_begin_.size() - 1, 0);
    std::fill(free_at_.begin(), free_at_.end(), Picoseconds{0});
    for (std::vector<Waiting>& queue : queues_) queue.clear();
    if constexpr (!kBackwards) {
        cause_.resize(hops);
        on_link_.assign(problem_.links.size(), kNoHop);
        opened_at_.assign(closed_.size(), 0);
        opened_by_.assign(closed_.size(), kNoHop);
        last_ = kNoHop;
        next_reserved_.assign(reserved_.size(), 0);
        to_do_.assign(problem_.links.size(), 0);
        for (const std::uint32_t l : link_) ++to_do_[l];
    }
    calendar_.clear();
    touched_.clear();
    const bool is_limited = !problem_.engines.sends.empty() || !problem_.engines.receives.empty();
    if (is_limited) {
        sending_.assign(problem_.nodes, 0);
        receiving_.assign(problem_.nodes, 0);
        freed_by_.assign(problem_.nodes, kNoHop);
        freed_at_.assign(problem_.nodes, -1);
        hop_on_.assign(problem_.links.size(), kNoHop);
    }
    // A link's bytes have entered it: of the end that begins, backwards the receiver's, the engine is free.
    const auto entered = [&](std::uint32_t l, Picoseconds at) {
        const Link& link = problem_.links[l];
        free_engine(kBackwards ? link.to : link.from, !kBackwards, hop_on_[l], at);
    };
    // Going in, a gate waits for the hops further out, and then its own hop starts; going out, for its own.
    const auto goes_in = [&](std::uint32_t hop) { return (is_sum_[hop] != 0) != kBackwards; };
    for (std::uint32_t h = 0; h < hops; ++h) ++closed_[goes_in(h) ? inner_[h] : outer_[h]];
    // Of an exchange the hop that goes in, and the one that goes out: its far end needs both of them.
    const auto in_of = [&](const Exchange& own) { return kBackwards ? own.copy : own.sum; };
    const auto out_of = [&](const Exchange& own) { return kBackwards ? own.sum : own.copy; };
    for (std::uint32_t t = 0; t < exchanges_.size(); ++t) {
        if (!exchanges_[t].any()) continue;
        const std::uint32_t out = out_of(exchanges_[t]), in = in_of(exchanges_[t]);
        others_[t] = closed_[first_[t] + t] - 1;
        others_by_[t] = kNoHop;
        others_at_[t] = 0;
        if (closed_[outer_[in]] > 0) ++closed_[outer_[out]];
        if (others_[t] == 0) wait(out, keys[out]);
    }
    for (std::uint32_t h = 0; h < hops; ++h)
        if (goes_in(h) && closed_[outer_[h]] == 0) wait(h, keys[h]);
    for (std::size_t t = 0; t < trees_.size(); ++t) {
        const auto root = static_cast<std::uint32_t>(first_[t] + t);
        if (closed_[root] == 0) open<kBackwards>(root, keys);  // it has all of the chunk at first
    }
    Picoseconds now = 0, time = 0;
    while (true) {
        if (is_limited) sort_touched();
        for (const std::uint32_t l : touched_) {
            std::vector<Waiting>& queue = queues_[l];
            if (queue.empty() || free_at_[l] > now) continue;
            if constexpr (!kBackwards) {
                if (is_reserved(l, now)) {
                    calendar_.add(free_at_[l], hops + l);
                    continue;
                }
            }
            if (is_limited && !has_engines(l)) continue;
            std::pop_heap(queue.begin(), queue.end(), std::greater<>());
            const std::uint32_t h = queue.back().second;
            queue.pop_back();
            const Link& link = problem_.links[l];
            starts[h] = now;
            if constexpr (!kBackwards) {
                const auto others = static_cast<Picoseconds>(--to_do_[l]);
                if (now + others * link.held + link.arrival >= limit) return kNever;
                const std::uint32_t gate = is_sum_[h] != 0 ? outer_[h] : inner_[h];
                const std::uint32_t t = exchanges_.empty() ? kNoHop : exchanging_at_[gate];
                if (t != kNoHop && h == exchanges_[t].copy)
                    cause_[h] = others_at_[t] == now ? others_by_[t] : on_link_[l];
                else
                    cause_[h] = opened_at_[gate] == now ? opened_by_[gate] : on_link_[l];
                if (is_limited && opened_at_[gate] != now && now > 0 && free_at_[l] != now)
                    cause_[h] = freed_by_[freed_at_[link.from] == now ? link.from : link.to];
                on_link_[l] = h;
                if (now + link.arrival > time) last_ = h;
            }
            if (is_limited) {
                take_engines(l);
                hop_on_[l] = h;
            }
            free_at_[l] = now + link.held;
            time = std::max(time, now + link.arrival);
            calendar_.add(now + link.arrival, h);
            if (link.held != link.arrival) calendar_.add(free_at_[l], hops + l);
        }
        touched_.clear();
        if (calendar_.empty()) break;
        now = calendar_.take(items_);
        for (const std::uint32_t item : items_) {
            if (item >= hops) {
                touched_.push_back(item - hops);
                // Not where others had the link.
                if (is_limited && hop_on_[item - hops] != kNoHop &&
                    starts[hop_on_[item - hops]] + problem_.links[item - hops].held == now)
                    entered(item - hops, now);
                continue;
            }
            touched_.push_back(link_[item]);
            if (is_limited) {
                const Link& link = problem_.links[link_[item]];
                if (link.held == link.arrival) entered(link_[item], now);
                free_engine(kBackwards ? link.from : link.to, kBackwards, item, now);
            }
            const bool in = goes_in(item);
            const std::uint32_t gate = in ? inner_[item] : outer_[item];
            const std::uint32_t t = exchanges_.empty() ? kNoHop : exchanging_at_[gate];
            if (t != kNoHop && in && gate == first_[t] + t && item != in_of(exchanges_[t]) &&
                --others_[t] == 0) {
                others_at_[t] = now;
                others_by_[t] = item;
                wait(out_of(exchanges_[t]), keys[out_of(exchanges_[t])]);
            }
            if (--closed_[gate] > 0) continue;
            if constexpr (!kBackwards) {
                opened_at_[gate] = now;
                opened_by_[gate] = item;
            }
            const std::uint32_t own = hop_of_[gate];
            if (!in || own == kNoHop) {
                open<kBackwards>(gate, keys);
                continue;
            }
            wait(own, keys[own]);
            if (t == kNoHop || own != in_of(exchanges_[t])) continue;
            const std::uint32_t far = outer_[out_of(exchanges_[t])];
            if (--closed_[far] > 0) continue;
            if constexpr (!kBackwards) {
                opened_at_[far] = now;
                opened_by_[far] = item;
            }
            open<kBackwards>(far, keys);
        }
        checkpoint();
    }
    return time;
}

}  // namespace dse::synthesis
