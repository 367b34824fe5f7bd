// The rules by which a link takes a chunk.
#include "collectives/greedy/choice.hpp"

#include <algorithm>

namespace dse::synthesis {

namespace {

constexpr std::size_t kMostOpenBytes = std::size_t{1} << 28;  // beyond, every rule is kOldest

std::uint32_t lowest_bit(std::size_t word_index, Word word) {
    return static_cast<std::uint32_t>(word_index * kWordBits) +
           static_cast<std::uint32_t>(__builtin_ctzll(word));
}

}  // namespace

Choice::Choice(GreedyState& state) : state_(state), rule_(state.options.rule) {
    const Task& task = state.task;
    const std::size_t links = task.links.size();
    const std::uint32_t chunks = task.problem->chunks;
    if (rule_ != Rule::kOldest && links * task.settled.words() * sizeof(Word) > kMostOpenBytes)
        rule_ = Rule::kOldest;
    cursor_.assign(links, 0);
    if (rule_ != Rule::kOldest) open_ = BitRows(links, chunks);
    if (rule_ == Rule::kRarest || rule_ == Rule::kNeeded) holders_.assign(chunks, 0);
    if (rule_ == Rule::kNeeded) prefers_rare_ = state.random.below(2) == 0;
    if (rule_ != Rule::kWeighted) return;
    rank_.assign(chunks, 0);
    for (std::uint32_t i = 0; i < state.options.order->size(); ++i) rank_[(*state.options.order)[i]] = i;
}

/// The latest time at which a chunk must have been there for a link to take it now.
Picoseconds Choice::horizon(std::uint32_t link, Picoseconds now) const {
    return state_.options.by_arrival ? now - state_.task.links[link].arrival : now;
}

std::uint32_t Choice::choose(std::uint32_t link, Picoseconds now) {
    if (rule_ == Rule::kOldest) return choose_oldest(link, now);
    const std::uint32_t u = state_.task.links[link].from, v = state_.task.links[link].to;
    const std::uint32_t* log = state_.logs.chunks(u);
    const Picoseconds* at = state_.logs.times(u);
    const std::uint32_t size = state_.logs.size(u);
    const Picoseconds latest = horizon(link, now);
    Word* open = open_[link];
    std::uint32_t cursor = cursor_[link];
    for (; cursor < size && at[cursor] <= latest; ++cursor) insert(open, log[cursor]);
    cursor_[link] = cursor;
    return rule_ == Rule::kRandom ? choose_any(open, state_.taken[v]) : choose_best(open, v);
}

std::uint32_t Choice::choose_oldest(std::uint32_t link, Picoseconds now) {
    const std::uint32_t u = state_.task.links[link].from;
    const std::uint32_t* log = state_.logs.chunks(u);
    const std::uint32_t size = state_.logs.size(u);
    const Word* taken = state_.taken[state_.task.links[link].to];
    std::uint32_t cursor = cursor_[link];
    while (cursor < size && has(taken, log[cursor])) ++cursor;
    cursor_[link] = cursor;
    if (cursor == size) return kNone;
    if (state_.options.by_arrival && state_.logs.times(u)[cursor] > horizon(link, now)) return kNone;
    return log[cursor];
}

std::uint32_t Choice::choose_any(const Word* open, const Word* taken) {
    const std::size_t words = state_.taken.words();
    const std::uint32_t first = state_.random.below(state_.task.problem->chunks);
    std::size_t w = first / kWordBits;
    Word word = open[w] & ~taken[w] & (~Word{0} << (first % kWordBits));
    for (std::size_t tried = 0; tried <= words; ++tried) {
        if (word != 0) return lowest_bit(w, word);
        if (++w == words) w = 0;
        word = open[w] & ~taken[w];
    }
    return kNone;
}

std::uint32_t Choice::choose_best(const Word* open, std::uint32_t v) {
    const Word* taken = state_.taken[v];
    std::uint32_t best = kNone, best_score = 0, equal = 0;
    for (std::size_t w = 0; w < state_.taken.words(); ++w)
        for (Word word = open[w] & ~taken[w]; word != 0; word &= word - 1) {
            const std::uint32_t chunk = lowest_bit(w, word), score = score_of(chunk, v);
            if (best == kNone || score < best_score) {
                best = chunk;
                best_score = score;
                equal = 1;
            } else if (score == best_score && state_.random.below(++equal) == 0) {
                best = chunk;
            }
        }
    return best;
}

/// Less is better.
std::uint32_t Choice::score_of(std::uint32_t chunk, std::uint32_t v) const {
    if (rule_ == Rule::kRarest) return holders_[chunk];
    if (rule_ == Rule::kWeighted) return rank_[chunk];
    const Task& task = state_.task;
    std::uint32_t neighbours_with_it = 0;
    for (std::uint32_t i = task.out_of[v]; i < task.out_of[v + 1]; ++i)
        neighbours_with_it += has(state_.taken[task.links[task.leaving[i]].to], chunk);
    return (neighbours_with_it << 16) + (prefers_rare_ ? std::min(holders_[chunk], 0xffffU) : 0);
}

bool Choice::could_carry(std::uint32_t link, std::uint32_t cursor_before, std::uint32_t chunk,
                         Picoseconds now) const {
    if (rule_ != Rule::kOldest) return has(open_[link], chunk);
    const std::uint32_t u = state_.task.links[link].from, end = cursor_[link];
    const std::uint32_t* log = state_.logs.chunks(u);
    const std::uint32_t* found = std::find(log + cursor_before, log + end, chunk);
    return found != log + end &&
           (!state_.options.by_arrival || state_.logs.times(u)[found - log] <= horizon(link, now));
}

Picoseconds Choice::ready_since(std::uint32_t link) {
    const std::uint32_t u = state_.task.links[link].from;
    const Word* taken = state_.taken[state_.task.links[link].to];
    const std::uint32_t* log = state_.logs.chunks(u);
    const std::uint32_t size = state_.logs.size(u);
    std::uint32_t cursor = cursor_[link];
    while (cursor < size && has(taken, log[cursor])) {
        if (rule_ != Rule::kOldest) insert(open_[link], log[cursor]);
        ++cursor;
    }
    cursor_[link] = cursor;
    if (rule_ != Rule::kOldest && has_open(open_[link], taken)) return 0;
    return cursor < size ? state_.logs.times(u)[cursor] : kNever;
}

bool Choice::has_open(const Word* open, const Word* taken) const {
    for (std::size_t w = 0; w < state_.taken.words(); ++w)
        if ((open[w] & ~taken[w]) != 0) return true;
    return false;
}

}  // namespace dse::synthesis
