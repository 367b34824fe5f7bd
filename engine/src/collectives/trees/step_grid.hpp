// A grid of links and steps: messages find ways through it by prices, and take the steps that they want.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/problem/problem.hpp"

namespace dse::synthesis::negotiation {

inline constexpr std::uint32_t kNothing = ~std::uint32_t{0};
inline constexpr std::uint32_t kWaits = kNothing - 1;
inline constexpr float kFar = std::numeric_limits<float>::infinity();
inline constexpr float kPressure = 4.0F;     // of one more that wants a step, in times its price
inline constexpr float kLesson = 0.3F;       // the same after each pass, for good
inline constexpr float kImpatience = 0.01F;  // of a step's wait, in times the price of a free step
inline constexpr std::uint32_t kAnyPhase = kNothing;

/// A send in steps.
struct Hop {
    std::uint32_t link;
    std::uint32_t start;
};

/// A message joins an NPU to a tree, over switches. Of copies the inner NPU sends it, and must have the chunk
/// when it leaves; the other one has it from `at` on. Of sums time runs the other way: the inner NPU gets it,
/// may send its own sum on from `leaves` on, and the other one sends at `at`.
struct Message {
    std::vector<Hop> hops;  ///< the outermost first
    std::uint32_t inner = kNothing;
    std::uint32_t leaves = 0;
    std::uint32_t at = kNothing;
};

using Tree = std::vector<Message>;  // per NPU; that of the root has no hops

/// Of a chunk sums go to the root, which has all of them at a step, and copies go from there. With a partner
/// the root exchanges what both have: sums go to either, the message of each to the other adds what it has,
/// and copies go from both. In both trees the partner is joined to the root by such a message.
struct Trees {
    std::uint32_t root = 0;
    std::uint32_t at = 0;
    std::uint32_t partner = kNothing;
    Tree sums, copies;
};

/// Keeps which links messages want at each step, with prices that rise where several want the same. Links of
/// a lane are wanted together.
class Grid {
public:
    /// `lanes` has a number per link, and stays.
    Grid(const Problem& problem, const std::vector<std::uint32_t>& lanes, Picoseconds step,
         std::uint32_t steps, std::uint32_t phase)
        : problem_(problem),
          lanes_(lanes),
          phase_(phase),
          step_(step),
          steps_(steps),
          wanted_(problem.links.size() * std::size_t{steps}, 0),
          lessons_(wanted_.size(), 1.0F),
          cost_(std::size_t{problem.nodes} * (steps + 1)),
          from_(cost_.size()),
          lag_(problem.npus) {
        for (const Link& link : problem.links) {
            takes_.push_back(in_steps(link.arrival));
            holds_.push_back(std::max(1U, in_steps(link.held)));
        }
        for (std::uint32_t npu = 0; npu < problem.npus; ++npu) find_lags(npu);
    }

    std::uint32_t steps() const { return steps_; }
    std::uint64_t looked_at() const { return looked_at_; }
    Picoseconds start_of(const Hop& hop) const { return step_ * hop.start; }

    /// Takes or gives back the steps of a message, or of all.
    void want(const Message& message, int sign) {
        for (const Hop& hop : message.hops)
            for (std::uint32_t s = hop.start; s < last(hop); ++s) wanted_[place(hop.link, s)] += sign;
    }
    void want(const Trees& trees, int sign) {
        for (const Tree* tree : {&trees.sums, &trees.copies})
            for (const Message& message : *tree) want(message, sign);
    }

    bool is_contested(const Message& message) const {
        return std::any_of(message.hops.begin(), message.hops.end(), [&](const Hop& hop) {
            for (std::uint32_t s = hop.start; s < last(hop); ++s)
                if (wanted_[place(hop.link, s)] > 1) return true;
            return false;
        });
    }

    /// Steps that too many want get dearer.
    void learn() {
        for (std::size_t i = 0; i < wanted_.size(); ++i)
            if (wanted_[i] > 1) lessons_[i] += kLesson * static_cast<float>(wanted_[i] - 1);
    }

    /// Joins all NPUs to the root, of sums too if said, and takes their steps; false, and none taken, if time
    /// is too short. If the root is to have a partner but time is too short for both messages, it has none.
    bool grow(Trees& own, bool has_sums, bool exchanges) {
        own.partner = kNothing;
        own.sums.assign(has_sums ? problem_.npus : 0, {});
        own.copies.assign(problem_.npus, {});
        own.copies[own.root].at = own.at;
        if (has_sums) own.sums[own.root].at = own.at;
        if (exchanges) exchange(own);
        if ((!has_sums || fill<true>(own.sums)) && fill<false>(own.copies)) return true;
        want(own, -1);
        return false;
    }

    /// Finds another way for the message of the partner to the root, or of the root to it, that fits all
    /// other messages; false if there is none.
    template <bool kSums>
    bool exchange_again(Trees& own) {
        Tree& tree = kSums ? own.sums : own.copies;
        const Message before = tree[own.partner];
        want(before, -1);
        Tree pair(problem_.npus);
        pair[own.root].at = kSums ? own.copies[own.root].at : own.sums[own.root].at;
        const bool is_found = find_way<kSums>(pair, limit_of<kSums>(tree, own.partner),
                                              [&](std::uint32_t v) { return v == own.partner; }) != kNothing;
        if (is_found) {
            tree[own.partner] = pair[own.partner];
            if (in_order(own.sums[own.partner], own.copies[own.partner])) return true;
            want(tree[own.partner], -1);
        }
        tree[own.partner] = before;
        want(before, 1);
        return false;
    }

    /// Takes an NPU and all that it is passed on to out of a tree, and joins them again; false, and all as
    /// before, if time is too short.
    template <bool kSums>
    bool grow_again(Tree& tree, std::uint32_t npu) {
        const Tree before = tree;
        removed_.assign(1, npu);
        for (std::size_t i = 0; i < removed_.size(); ++i) {
            for (std::uint32_t v = 0; v < tree.size(); ++v)
                if (tree[v].inner == removed_[i]) removed_.push_back(v);
            want(tree[removed_[i]], -1);
            tree[removed_[i]] = {};
        }
        if (fill<kSums>(tree)) return true;
        for (const std::uint32_t v : removed_) want(tree[v], -1);
        tree = before;
        for (const std::uint32_t v : removed_) want(tree[v], 1);
        return false;
    }

    /// Joins an NPU by another way, so that those that it is passed on to keep theirs; false if there is
    /// none.
    template <bool kSums>
    bool join_again(Tree& tree, std::uint32_t npu) {
        const std::uint32_t limit = limit_of<kSums>(tree, npu);
        const Message before = std::move(tree[npu]);
        want(before, -1);
        tree[npu] = {};
        if (find_way<kSums>(tree, limit, [&](std::uint32_t v) { return v == npu; }) != kNothing) return true;
        tree[npu] = before;
        want(before, 1);
        return false;
    }

private:
    using Entry = std::tuple<float, std::uint32_t, std::uint32_t>;  // cost, step, node

    std::uint32_t in_steps(Picoseconds time) const {
        return static_cast<std::uint32_t>((time + step_ - 1) / step_);
    }
    std::uint32_t last(const Hop& hop) const { return std::min(steps_, hop.start + holds_[hop.link]); }
    std::size_t place(std::uint32_t link, std::uint32_t step) const {
        return std::size_t{lanes_[link]} * steps_ + step;
    }
    std::size_t state(std::uint32_t node, std::uint32_t step) const {
        return std::size_t{node} * (steps_ + 1) + step;
    }

    /// When an NPU must have what it sends on; of sums, when the last of those that it gets is there.
    template <bool kSums>
    std::uint32_t limit_of(const Tree& tree, std::uint32_t npu) const {
        std::uint32_t limit = kSums ? 0 : steps_;
        for (const Message& other : tree)
            if (other.inner == npu)
                limit = kSums ? std::max(limit, other.leaves) : std::min(limit, other.leaves);
        return limit;
    }

    /// Whether what the partner sends has left before the other message comes, and no switch gets one first
    /// and passes on the other first.
    bool in_order(const Message& comes, const Message& goes) const {
        if (comes.at >= goes.at) return false;
        for (std::size_t i = 0; i + 1 < comes.hops.size(); ++i)
            for (std::size_t j = 0; j + 1 < goes.hops.size(); ++j) {
                // The hops into a switch and out of it: those of a copy are listed from its end.
                const Hop &into = comes.hops[i], &out = comes.hops[i + 1];
                const Hop &other_into = goes.hops[j + 1], &other_out = goes.hops[j];
                if (problem_.links[into.link].to != problem_.links[other_into.link].to) continue;
                const auto came = into.start + takes_[into.link],
                           other = other_into.start + takes_[other_into.link];
                if (came == other || (came < other) != (out.start < other_out.start) ||
                    out.start == other_out.start)
                    return false;
            }
        return true;
    }

    /// Gives the root a partner, of the NPUs that are farthest past switches, if time is long enough. What
    /// the root sends is there after the partner has sent: else it would be added to what comes back.
    void exchange(Trees& own) {
        const auto lag_of = [&](std::uint32_t v) {
            const std::uint32_t lag = lags_[v * problem_.npus + own.root];
            return lag == kNothing ? 0 : lag;
        };
        std::uint32_t lag = 1;
        for (std::uint32_t v = 0; v < problem_.npus; ++v) lag = std::max(lag, lag_of(v));
        Tree there(problem_.npus), back(problem_.npus);
        there[own.root].at = own.at;
        const std::uint32_t partner =
            find_way<true>(there, 0, [&](std::uint32_t v) { return lag_of(v) == lag; });
        if (partner == kNothing) return;
        const Message& comes = there[partner];
        back[own.root].at = comes.at + 1;  // switches must not confuse them
        const bool is_back =
            find_way<false>(back, steps_, [&](std::uint32_t v) { return v == partner; }) == partner;
        const Message& goes = back[partner];
        if (!is_back || !in_order(comes, goes)) {
            want(comes, -1);
            want(goes, -1);
            return;
        }
        own.partner = partner;
        own.sums[partner] = comes;
        own.copies[partner] = goes;
        own.sums[own.root].at = goes.leaves;
        own.copies[own.root].at = std::max(comes.leaves, goes.leaves);
    }

    /// In how many steps messages of an NPU get to others, past switches only.
    void find_lags(std::uint32_t npu) {
        std::vector<std::uint32_t> at(problem_.nodes, kNothing);
        std::vector<std::pair<std::uint32_t, std::uint32_t>> heap = {{0, npu}};
        at[npu] = 0;
        while (!heap.empty()) {
            std::pop_heap(heap.begin(), heap.end(), std::greater<>());
            const auto [step, node] = heap.back();
            heap.pop_back();
            if (step > at[node] || (node < problem_.npus && node != npu)) continue;
            for (std::uint32_t i = problem_.out_of.begin[node]; i < problem_.out_of.begin[node + 1]; ++i) {
                const std::uint32_t l = problem_.out_of.links[i];
                if (step + takes_[l] >= at[problem_.links[l].to]) continue;
                at[problem_.links[l].to] = step + takes_[l];
                heap.emplace_back(step + takes_[l], problem_.links[l].to);
                std::push_heap(heap.begin(), heap.end(), std::greater<>());
            }
        }
        lags_.insert(lags_.end(), at.begin(), at.begin() + problem_.npus);
    }

    float price_of(std::uint32_t link, std::uint32_t start) const {
        float price = 0.0F;
        for (std::uint32_t s = start; s < last({link, start}); ++s)
            price +=
                lessons_[place(link, s)] * (1.0F + kPressure * static_cast<float>(wanted_[place(link, s)]));
        return price;
    }

    void offer(std::uint32_t node, std::uint32_t step, float cost, Hop from) {
        if (cost >= cost_[state(node, step)]) return;
        cost_[state(node, step)] = cost;
        from_[state(node, step)] = from;
        heap_.emplace_back(cost, step, node);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }

    /// Joins all NPUs that are not in the tree, the farthest first, of those the one with the cheapest way.
    template <bool kSums>
    bool fill(Tree& tree) {
        std::fill(lag_.begin(), lag_.end(), kNothing);
        std::uint32_t left = 0;
        for (std::uint32_t v = 0; v < problem_.npus; ++v) {
            if (tree[v].at == kNothing)
                ++left;
            else
                come_near<kSums>(v);
        }
        for (; left > 0; --left) {
            std::uint32_t lag = 0;
            for (std::uint32_t v = 0; v < problem_.npus; ++v)
                if (tree[v].at == kNothing && lag_[v] != kNothing) lag = std::max(lag, lag_[v]);
            const auto is_asked = [&](std::uint32_t v) { return tree[v].at == kNothing && lag_[v] == lag; };
            const std::uint32_t joined = find_way<kSums>(tree, kSums ? 0 : steps_, is_asked);
            if (joined == kNothing) return false;
            come_near<kSums>(joined);
        }
        return true;
    }

    /// Notes how near all are to an NPU that is in the tree.
    template <bool kSums>
    void come_near(std::uint32_t npu) {
        for (std::uint32_t v = 0; v < problem_.npus; ++v)
            lag_[v] = std::min(lag_[v], lags_[kSums ? v * problem_.npus + npu : npu * problem_.npus + v]);
    }

    /// Gives one of the NPUs that are asked for the cheapest message from the tree, there by the step `limit`
    /// (of sums: not before), and takes its steps; returns which, or nothing.
    template <bool kSums, typename IsAsked>
    std::uint32_t find_way(Tree& tree, std::uint32_t limit, const IsAsked& is_asked) {
        std::fill(cost_.begin(), cost_.end(), kFar);
        heap_.clear();
        for (std::uint32_t v = 0; v < problem_.npus; ++v)
            if (tree[v].at != kNothing) offer(v, tree[v].at, 0.0F, {kNothing, 0});
        while (!heap_.empty()) {
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            const auto [cost, step, node] = heap_.back();
            heap_.pop_back();
            if (cost != cost_[state(node, step)]) continue;
            ++looked_at_;
            if (node < problem_.npus && tree[node].at == kNothing) {
                if (!is_asked(node)) continue;
                tree[node] = message_to<kSums>(node, step);
                want(tree[node], 1);
                return node;
            }
            if (kSums ? step > limit : step < limit)
                offer(node, kSums ? step - 1 : step + 1, cost + kImpatience, {kWaits, 0});
            const LinksPerNode& near = kSums ? problem_.into : problem_.out_of;
            for (std::uint32_t i = near.begin[node]; i < near.begin[node + 1]; ++i) {
                const std::uint32_t l = near.links[i];
                const std::uint32_t there = kSums ? problem_.links[l].from : problem_.links[l].to;
                if (there < problem_.npus && !is_asked(there)) continue;
                if (kSums ? step < takes_[l] + limit : step + takes_[l] > limit) continue;
                const std::uint32_t start = kSums ? step - takes_[l] : step;
                if (phase_ != kAnyPhase && (start + phase_) % holds_[l] != 0) continue;
                offer(there, kSums ? start : step + takes_[l], cost + price_of(l, start), {l, start});
            }
        }
        return kNothing;
    }

    template <bool kSums>
    Message message_to(std::uint32_t node, std::uint32_t step) const {
        Message message;
        message.at = step;
        while (true) {
            const Hop from = from_[state(node, step)];
            if (from.link == kNothing) break;
            if (from.link == kWaits) {
                step = kSums ? step + 1 : step - 1;
                continue;
            }
            message.hops.push_back(from);
            node = kSums ? problem_.links[from.link].to : problem_.links[from.link].from;
            step = kSums ? from.start + takes_[from.link] : from.start;
            message.leaves = step;
        }
        message.inner = node;
        return message;
    }

    const Problem& problem_;
    const std::vector<std::uint32_t>& lanes_;
    const std::uint32_t phase_;  ///< links start at this and each multiple of what they hold, or at any step
    const Picoseconds step_;
    const std::uint32_t steps_;
    std::vector<std::uint32_t> takes_, holds_;  ///< per link
    std::vector<std::uint32_t> lags_;           ///< per pair of NPUs
    std::vector<int> wanted_;                   ///< per link and step by how many
    std::vector<float> lessons_;
    std::uint64_t looked_at_ = 0;

    // Of the tree that grows.
    std::vector<float> cost_;  ///< per node and step
    std::vector<Hop> from_;
    std::vector<std::uint32_t> lag_;  ///< per NPU from the tree
    std::vector<std::uint32_t> removed_;
    std::vector<Entry> heap_;
};

}  // namespace dse::synthesis::negotiation
