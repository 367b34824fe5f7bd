// A heap of pairs of NPUs by when a message can arrive: looked at again when they come up, as links fill.
#include "collectives/greedy/passing.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/greedy/task.hpp"
#include "collectives/problem/bits.hpp"

namespace dse::synthesis {

namespace {

constexpr double kMostPairs = 1e6;  // of NPUs times chunks: a second or two

class PassingSearch {
public:
    PassingSearch(const Problem& problem, const Passing& passing, Random& random,
                  const Checkpoint& checkpoint)
        : problem_(problem),
          is_even_(passing.is_even),
          random_(random),
          checkpoint_(checkpoint),
          has_(problem.nodes, problem.chunks),
          free_at_(problem.free_from),
          arrives_(problem.nodes, kNever),
          by_(problem.nodes, 0) {
        free_at_.resize(problem.links.size(), 0);
        ready_.assign(std::size_t{problem.npus} * problem.chunks, kNever);
        next_.assign(std::size_t{problem.npus} * problem.npus, kNever);
        holders_.assign(problem.chunks, 0);
        sent_.assign(problem.npus, 0);
        got_.assign(problem.npus, 0);
        lacking_ = std::size_t{problem.npus} * problem.chunks;
        const std::vector<Picoseconds> busy =
            std::exchange(free_at_, std::vector<Picoseconds>(free_at_.size(), 0));
        for (std::uint32_t u = 0; u < problem.npus; ++u) {
            find_ways(u);
            takes_.insert(takes_.end(), arrives_.begin(), arrives_.begin() + problem.npus);
        }
        free_at_ = busy;
        for (const Picoseconds time : takes_) {
            const double price = passing.price * static_cast<double>(time);
            price_.push_back(time == kNever ? 0 : static_cast<Picoseconds>(price));
        }
        for (const Holding& held : problem.holdings)
            if (held.node < problem.npus && ready(held.node, held.chunk) == kNever)
                get(held.node, held.chunk, held.at);
        for (std::uint32_t u = 0; u < problem.npus; ++u)
            for (std::uint32_t v = 0; v < problem.npus; ++v) offer(u, v, 0);
    }

    Sends run(Picoseconds limit) {
        while (lacking_ > 0) {
            if (heap_.empty()) throw_lacking();
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            const auto [score, before, drawn, u, v] = heap_.back();
            heap_.pop_back();
            if (score != next_[pair(u, v)]) continue;
            next_[pair(u, v)] = kNever;
            if (has_all(u, v)) continue;
            const Choice choice = best(u, v);
            if (choice.score > score || load(u, v) > before) {
                push(choice.score, u, v);
                continue;
            }
            const Picoseconds there = send(u, v, choice.chunk);
            if (there >= limit) return {{}, kNever};
            get(v, choice.chunk, there);
            offer(u, v, 0);
            for (std::uint32_t w = 0; w < problem_.npus; ++w) offer(v, w, there);
            checkpoint_();
        }
        return std::move(sends_);
    }

private:
    static constexpr std::uint32_t kNoChunk = ~std::uint32_t{0};
    using Offer = std::tuple<Picoseconds, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
    struct Choice {
        Picoseconds score;
        std::uint32_t chunk;
    };

    Picoseconds& ready(std::uint32_t npu, std::uint32_t chunk) {
        return ready_[std::size_t{npu} * problem_.chunks + chunk];
    }
    Picoseconds takes(std::uint32_t u, std::uint32_t v) const {
        return takes_[std::size_t{u} * problem_.npus + v];
    }

    void get(std::uint32_t npu, std::uint32_t chunk, Picoseconds at) {
        ready(npu, chunk) = at;
        insert(has_[npu], chunk);
        ++holders_[chunk];
        --lacking_;
    }

    std::uint32_t load(std::uint32_t u, std::uint32_t v) const { return is_even_ ? sent_[u] + got_[v] : 0; }

    /// Of equal ones, if so asked, an NPU that has sent little goes first, to one that has got little.
    void push(Picoseconds score, std::uint32_t u, std::uint32_t v) {
        if (score >= next_[pair(u, v)]) return;
        next_[pair(u, v)] = score;
        heap_.push_back({score, load(u, v), is_even_ ? random_.below(~std::uint32_t{0}) : 0, u, v});
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }

    /// A pair comes up at `score`, which is no later than anything can arrive, unless it does so before.
    void offer(std::uint32_t u, std::uint32_t v, Picoseconds from) {
        if (u == v || takes(u, v) == kNever || has_all(u, v)) return;
        push(from + takes(u, v) + price_[pair(u, v)], u, v);
    }

    std::size_t pair(std::uint32_t u, std::uint32_t v) const { return std::size_t{u} * problem_.npus + v; }

    /// Whether an NPU has all that another one has.
    bool has_all(std::uint32_t u, std::uint32_t v) const {
        for (std::size_t w = 0; w < has_.words(); ++w)
            if ((has_[u][w] & ~has_[v][w]) != 0) return false;
        return true;
    }

    /// When a message can arrive on the links as they are free, past switches only.
    void find_ways(std::uint32_t from) {
        std::fill(arrives_.begin(), arrives_.end(), kNever);
        ways_.assign(1, {0, from});
        arrives_[from] = 0;
        while (!ways_.empty()) {
            std::pop_heap(ways_.begin(), ways_.end(), std::greater<>());
            const auto [time, node] = ways_.back();
            ways_.pop_back();
            if (time > arrives_[node] || (node < problem_.npus && node != from)) continue;
            for (std::uint32_t i = problem_.out_of.begin[node]; i < problem_.out_of.begin[node + 1]; ++i) {
                const std::uint32_t l = problem_.out_of.links[i];
                const Link& link = problem_.links[l];
                const Picoseconds there = std::max(time, free_at_[l]) + link.arrival;
                if (there >= arrives_[link.to]) continue;
                arrives_[link.to] = there;
                by_[link.to] = l;
                ways_.emplace_back(there, link.to);
                std::push_heap(ways_.begin(), ways_.end(), std::greater<>());
            }
        }
    }

    /// The chunk that can be there first, of these the one that fewest have.
    Choice best(std::uint32_t u, std::uint32_t v) {
        find_ways(u);
        Choice best{kNever, kNoChunk};
        std::uint32_t fewest = 0, ties = 0;
        for (std::uint32_t w = 0; w < has_.words(); ++w)
            for (std::uint64_t left = has_[u][w] & ~has_[v][w]; left != 0; left &= left - 1) {
                const std::uint32_t chunk = 64 * w + static_cast<std::uint32_t>(std::countr_zero(left));
                const Picoseconds time = std::max(arrives_[v], ready(u, chunk) + takes(u, v));
                if (time > best.score || (time == best.score && holders_[chunk] > fewest)) continue;
                if (time < best.score || holders_[chunk] < fewest) ties = 0;
                if (random_.below(++ties) != 0) continue;
                best = {time, chunk};
                fewest = holders_[chunk];
            }
        best.score += price_[pair(u, v)];
        return best;
    }

    Picoseconds send(std::uint32_t u, std::uint32_t v, std::uint32_t chunk) {
        way_.clear();
        for (std::uint32_t node = v; node != u; node = problem_.links[by_[node]].from)
            way_.push_back(by_[node]);
        Picoseconds time = ready(u, chunk);
        for (std::size_t i = way_.size(); i-- > 0;) {
            const Link& link = problem_.links[way_[i]];
            const Picoseconds start = std::max(time, free_at_[way_[i]]);
            sends_.sends.push_back({way_[i], chunk, start});
            free_at_[way_[i]] = start + link.held;
            time = start + link.arrival;
        }
        sends_.time = std::max(sends_.time, time);
        ++sent_[u];
        ++got_[v];
        return time;
    }

    [[noreturn]] void throw_lacking() {
        for (std::uint32_t v = 0; v < problem_.npus; ++v)
            for (std::uint32_t c = 0; c < problem_.chunks; ++c)
                if (ready(v, c) == kNever) throw_unreachable(problem_, v, c);
        throw_unreachable(problem_, 0, 0);
    }

    const Problem& problem_;
    const bool is_even_;
    Random& random_;
    const Checkpoint& checkpoint_;
    BitRows has_;                            ///< per node chunks, also those that are on their way to it
    std::vector<Picoseconds> free_at_;       ///< per link
    std::vector<Picoseconds> arrives_;       ///< per node, of the last ways
    std::vector<std::uint32_t> by_;          ///< per node its last link
    std::vector<Picoseconds> ready_;         ///< per NPU and chunk
    std::vector<Picoseconds> takes_;         ///< per pair of NPUs, on free links
    std::vector<Picoseconds> price_;         ///< per pair of NPUs, added to when a message arrives
    std::vector<std::uint32_t> holders_;     ///< per chunk
    std::vector<Picoseconds> next_;          ///< per pair of NPUs when it comes up
    std::vector<std::uint32_t> sent_, got_;  ///< per NPU
    std::vector<Offer> heap_;
    std::vector<std::pair<Picoseconds, std::uint32_t>> ways_;
    std::vector<std::uint32_t> way_;
    std::size_t lacking_ = 0;
    Sends sends_;
};

}  // namespace

bool can_pass(const Problem& problem) {
    const double npus = problem.npus;
    const auto is_at_npu = [&](const Holding& held) { return held.node < problem.npus; };
    return problem.everyone_wants_all && npus * npus * problem.chunks <= kMostPairs &&
           std::all_of(problem.holdings.begin(), problem.holdings.end(), is_at_npu);
}

Sends pass_greedily(const Problem& problem, const Passing& passing, Random& random, Picoseconds limit,
                    const Checkpoint& checkpoint) {
    return PassingSearch(problem, passing, random, checkpoint).run(limit);
}

}  // namespace dse::synthesis
