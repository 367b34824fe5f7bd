// One run: links take turns in the order of deliveries; a channel takes what serves most nodes next.
#include "collectives/symmetric/symmetric.hpp"

#include <algorithm>
#include <utility>

namespace dse::synthesis {

namespace {

constexpr std::size_t kLookedAt = 16;       // candidates of one choice
constexpr std::size_t kHopelessEvery = 16;  // deliveries between two looks at the time that is left
constexpr std::int32_t kWorth = 64;         // of one neighbour that could be served

/// How strongly chance bends the choices of a run; the first run has none.
std::int32_t noise_of(std::uint64_t run) {
    constexpr std::int32_t kNoise[] = {kWorth / 4, kWorth, 2 * kWorth, 6 * kWorth};
    return run == 0 ? 0 : kNoise[run % 4];
}

}  // namespace

void Generators::index_previous() {
    previous.resize(next.size());
    for (std::uint32_t node = 0; node < nodes; ++node)
        for (std::uint32_t g = 0; g < count; ++g)
            previous[std::size_t{next[std::size_t{node} * count + g]} * count + g] = node;
}

TreeSearch::TreeSearch(Generators generators, std::uint32_t chunks, std::uint64_t seed)
    : graph_(std::move(generators)), chunks_(chunks), seed_(seed), random_(seed) {
    const std::size_t items = std::size_t{graph_.nodes} * chunks_;
    reached_.resize(items);
    worth_.resize(items);
    log_.reserve(items);
    sends_.reserve(items);
    weight_.resize(graph_.count);
    channels_.resize(graph_.count);
}

bool TreeSearch::search(std::uint64_t runs, Picoseconds enough) {
    bool better = false;
    for (std::uint64_t i = 0; i < runs && (best_.time > enough || best_.sends.empty()); ++i) {
        begin_run();
        if (finish_run()) {
            best_.sends = sends_;
            better = true;
        }
        ++runs_;
    }
    return better;
}

void TreeSearch::begin_run() {
    random_ = Random(seed_, runs_);
    noise_ = noise_of(runs_);
    // Every other run values neighbours by chance, by generator.
    for (auto& weight : weight_)
        weight = runs_ % 2 == 0 ? kWorth : static_cast<std::int32_t>(random_.below(2 * kWorth));
    std::int32_t all = 0;
    for (const std::int32_t weight : weight_) all += weight;
    std::fill(reached_.begin(), reached_.end(), kNever);
    std::fill(worth_.begin(), worth_.end(), all);
    log_.clear();
    sends_.clear();
    events_.clear();
    sleepers_.clear();
    for (Channel& channel : channels_) {
        channel.free = 0;
        channel.looked_to = 0;
        channel.items.clear();
        channel.sleeps = false;
    }
    for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) reach(chunk * graph_.nodes, 0);
    for (std::uint32_t g = 0; g < graph_.count; ++g) schedule(g);
}

/// True if all is reached before the best time.
bool TreeSearch::finish_run() {
    const auto later = [](const Event& a, const Event& b) {
        return std::pair(a.time, a.tie) > std::pair(b.time, b.tie);
    };
    std::size_t look = kHopelessEvery;
    Picoseconds time = 0;
    while (log_.size() < reached_.size()) {
        if (events_.empty()) return false;
        std::pop_heap(events_.begin(), events_.end(), later);
        const Event event = events_.back();
        events_.pop_back();
        if (event.time >= best_.time) return false;
        const bool delivered = deliver(event.generator, event.time);
        schedule(event.generator);
        if (!delivered) continue;
        time = event.time;
        if (--look == 0) {
            if (is_hopeless()) return false;
            look = kHopelessEvery;
        }
        for (std::size_t i = sleepers_.size(); i-- > 0;) {
            const std::uint32_t g = sleepers_[i];
            sleepers_[i] = sleepers_.back();
            sleepers_.pop_back();
            channels_[g].sleeps = false;
            schedule(g);
        }
    }
    best_.time = time;
    return true;
}

/// Puts the generator's next delivery on the heap, or the generator among those that wait for a chunk.
void TreeSearch::schedule(std::uint32_t generator) {
    Channel& channel = channels_[generator];
    if (channel.sleeps) return;
    const auto is_reached = [&](std::uint32_t item) {
        return reached_[next_item(item, generator)] != kNever;
    };
    while (!channel.items.empty() && is_reached(channel.items.back())) channel.items.pop_back();
    Picoseconds start = channel.free;
    if (channel.items.empty()) {
        while (channel.looked_to < log_.size() && is_reached(log_[channel.looked_to])) ++channel.looked_to;
        if (channel.looked_to == log_.size()) {
            channel.sleeps = true;
            sleepers_.push_back(generator);
            return;
        }
        start = std::max(start, reached_[log_[channel.looked_to]]);
    }
    const auto later = [](const Event& a, const Event& b) {
        return std::pair(a.time, a.tie) > std::pair(b.time, b.tie);
    };
    const auto tie = static_cast<std::uint32_t>(random_.next() >> 32);
    events_.push_back({start + graph_.arrival[generator], tie, generator});
    std::push_heap(events_.begin(), events_.end(), later);
}

bool TreeSearch::deliver(std::uint32_t generator, Picoseconds time) {
    Channel& channel = channels_[generator];
    const Picoseconds start = time - graph_.arrival[generator];
    for (; channel.looked_to < log_.size() && reached_[log_[channel.looked_to]] <= start;
         ++channel.looked_to) {
        const std::uint32_t item = log_[channel.looked_to];
        if (reached_[next_item(item, generator)] == kNever) channel.items.push_back(item);
    }
    const std::uint32_t from = choose(channel, generator);
    if (from == reached_.size()) return false;
    sends_.push_back({generator, from % graph_.nodes, from / graph_.nodes, start});
    channel.free = start + graph_.held[generator];
    reach(next_item(from, generator), time);
    return true;
}

/// One of the items that the channel can carry, the number of all items if there is none.
std::uint32_t TreeSearch::choose(Channel& channel, std::uint32_t generator) {
    std::vector<std::uint32_t>& items = channel.items;
    std::int64_t best = -1;
    std::size_t chosen = 0;
    const bool all = items.size() <= kLookedAt;
    std::size_t left = kLookedAt;
    for (std::size_t i = 0; !items.empty() && left > 0;) {
        if (all && i >= items.size()) break;
        const std::size_t at = all ? i : random_.below(static_cast<std::uint32_t>(items.size()));
        const std::uint32_t there = next_item(items[at], generator);
        if (reached_[there] != kNever) {
            if (chosen == items.size() - 1) chosen = at;
            items[at] = items.back();
            items.pop_back();
            continue;
        }
        const std::int64_t noise = noise_ == 0 ? 0 : random_.below(static_cast<std::uint32_t>(noise_));
        const std::int64_t worth = worth_[there] + noise;
        if (worth > best) {
            best = worth;
            chosen = at;
        }
        ++i;
        --left;
    }
    if (best < 0) return static_cast<std::uint32_t>(reached_.size());
    const std::uint32_t item = items[chosen];
    items[chosen] = items.back();
    items.pop_back();
    return item;
}

void TreeSearch::reach(std::uint32_t item, Picoseconds time) {
    reached_[item] = time;
    log_.push_back(item);
    const std::uint32_t node = item % graph_.nodes, base = item - node;
    for (std::uint32_t g = 0; g < graph_.count; ++g)
        worth_[base + graph_.previous[std::size_t{node} * graph_.count + g]] -= weight_[g];
}

/// Whether all channels together cannot deliver what is left before the best time.
bool TreeSearch::is_hopeless() const {
    if (best_.time == kNever) return false;
    auto left = static_cast<std::int64_t>(reached_.size() - log_.size());
    for (std::uint32_t g = 0; g < graph_.count && left > 0; ++g) {
        const Picoseconds time = best_.time - 1 - graph_.arrival[g] - channels_[g].free;
        if (time < 0) continue;
        left -= graph_.held[g] == 0 ? left : 1 + time / graph_.held[g];
    }
    return left > 0;
}

}  // namespace dse::synthesis
