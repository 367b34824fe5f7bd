// The graph of the cut objectives in two: halves grown from random nodes, made better by moves.
#pragma once

#include <cmath>
#include <numeric>
#include <queue>

#include "partition/cuts/cut_graph.hpp"
#include "partition/cuts/gain_buckets.hpp"

namespace dse::partition {

/// Splits the nodes of a graph in two, over and over: halves grown from random nodes, then moves between
/// them.
class Bisection {
public:
    Bisection(const CutGraph& graph, const Problem& problem, const std::vector<std::uint32_t>& devices,
              Random& random)
        : graph_(graph),
          devices_(devices),
          random_(random),
          place_(problem.devices),
          labels_(graph.nodes, 0),
          member_(graph.nodes, 0),
          side_(graph.nodes, 0),
          gain_(graph.nodes, 0.0),
          queues_{GainBuckets(graph.nodes), GainBuckets(graph.nodes)},
          limit_(problem.weight_limit) {
        for (std::size_t k = 0; k < devices.size(); ++k) place_[devices[k]] = k;
    }

    using Sides = std::vector<char>;

    Labels run() {
        split(all_nodes(), 0, devices_.size());
        return std::move(labels_);
    }

    /// The whole graph in two, for the devices from `begin` to `middle` and from there to `end`.
    Sides halves(std::size_t begin, std::size_t middle, std::size_t end) {
        return best_sides(all_nodes(), begin, middle, end);
    }

    /// Makes two halves better; returns their score, less of which is better.
    double improve(Sides& sides, std::size_t begin, std::size_t middle, std::size_t end) {
        const Nodes nodes = all_nodes();
        aim(nodes, begin, middle, end);
        fixed_.assign(nodes.size(), 0);
        left_ = 0;
        for (const std::uint32_t v : nodes) {
            side_[v] = sides[v];
            fixed_[v] = is_fixed(v, begin, end) ? 1 : 0;
            if (side_[v] == 0) left_ += graph_.weight[v];
        }
        for (int pass = 0; pass < kDeepPasses && climb(nodes); ++pass) {
        }
        sides = side_;
        return score(nodes);
    }

private:
    static constexpr int kTries = 10;
    static constexpr int kPasses = 4, kDeepPasses = 12;
    static constexpr std::size_t kPatience = 100;  ///< moves of a pass without a new best

    using Nodes = std::vector<std::uint32_t>;
    using Entry = std::pair<double, std::uint32_t>;

    Nodes all_nodes() const {
        Nodes all(graph_.nodes);
        std::iota(all.begin(), all.end(), 0U);
        return all;
    }

    void split(const Nodes& nodes, std::size_t begin, std::size_t end) {
        if (end - begin == 1 || nodes.empty()) {
            for (const std::uint32_t v : nodes) labels_[v] = static_cast<std::int32_t>(devices_[begin]);
            return;
        }
        const std::size_t middle = begin + (end - begin) / 2;
        const Sides sides = best_sides(nodes, begin, middle, end);
        Nodes half[2];
        for (std::size_t k = 0; k < nodes.size(); ++k) half[sides[k] ? 1 : 0].push_back(nodes[k]);
        split(half[0], begin, middle);
        split(half[1], middle, end);
    }

    /// The weight that each half shall have, and how far off it may be.
    void aim(const Nodes& nodes, std::size_t begin, std::size_t middle, std::size_t end) {
        ++stamp_;
        total_ = 0;
        double heaviest = 0;
        for (const std::uint32_t v : nodes) {
            member_[v] = stamp_;
            total_ += graph_.weight[v];
            heaviest = std::max(heaviest, graph_.weight[v]);
        }
        target_ = total_ * static_cast<double>(middle - begin) / static_cast<double>(end - begin);
        slack_ = slack(end - begin, std::min(target_, total_ - target_), heaviest);
    }

    double score(const Nodes& nodes) const {
        const double off = std::max(0.0, std::abs(left_ - target_) - slack_);
        return cut(nodes) + off / std::max(total_, 1e-300) * 1e6;
    }

    Sides best_sides(const Nodes& nodes, std::size_t begin, std::size_t middle, std::size_t end) {
        aim(nodes, begin, middle, end);
        Sides best;
        double best_score = kInfinite;
        for (int attempt = 0; attempt < kTries; ++attempt) {
            grow(nodes, begin, middle, end);
            for (int pass = 0; pass < kPasses && climb(nodes); ++pass) {
            }
            const double now = score(nodes);
            if (now >= best_score) continue;
            best_score = now;
            best.clear();
            for (const std::uint32_t v : nodes) best.push_back(side_[v]);
        }
        return best;
    }

    /// How far a half may be off its share: imbalance is spread evenly over the splits that follow.
    double slack(std::size_t devices, double half, double heaviest) const {
        const double share = total_ / static_cast<double>(devices);
        if (limit_ == kInfinite) return std::max(0.01 * share, heaviest / 2);
        const double splits = std::ceil(std::log2(static_cast<double>(devices)));
        return std::max(0.0, std::pow(limit_ / std::max(share, 1e-300), 1 / splits) - 1) * half;
    }

    bool is_fixed(std::uint32_t v, std::size_t begin, std::size_t end) const {
        if (graph_.pinned[v] < 0) return false;
        const std::size_t place = place_[static_cast<std::size_t>(graph_.pinned[v])];
        return place >= begin && place < end;
    }

    /// Side 0 grows from a random node by what is connected most; side 1 is the rest.
    void grow(const Nodes& nodes, std::size_t begin, std::size_t middle, std::size_t end) {
        fixed_.assign(nodes.size(), 0);
        left_ = 0;
        std::priority_queue<Entry> queue;
        for (std::size_t k = 0; k < nodes.size(); ++k) {
            const std::uint32_t v = nodes[k];
            side_[v] = 1;
            set_gain(v, true);
            fixed_[k] = is_fixed(v, begin, end) ? 1 : 0;
        }
        for (std::size_t k = 0; k < nodes.size(); ++k)
            if (fixed_[k] && is_fixed(nodes[k], begin, middle)) absorb(nodes[k], queue);
        while (left_ < target_) {
            std::uint32_t v = UINT32_MAX;
            while (!queue.empty() && v == UINT32_MAX) {
                const auto [gain, u] = queue.top();
                queue.pop();
                if (side_[u] == 1 && gain == gain_[u] && !is_fixed(u, middle, end)) v = u;
            }
            if (v == UINT32_MAX) {
                v = any_right(nodes, middle, end);
                if (v == UINT32_MAX) break;
            }
            if (left_ + graph_.weight[v] - target_ > target_ - left_ && left_ > 0) break;
            absorb(v, queue);
        }
    }

    std::uint32_t any_right(const Nodes& nodes, std::size_t middle, std::size_t end) {
        const std::size_t first = random_() % nodes.size();
        for (std::size_t k = 0; k < nodes.size(); ++k) {
            const std::uint32_t v = nodes[(first + k) % nodes.size()];
            if (side_[v] == 1 && !is_fixed(v, middle, end)) return v;
        }
        return UINT32_MAX;
    }

    void absorb(std::uint32_t v, std::priority_queue<Entry>& queue) {
        side_[v] = 0;
        left_ += graph_.weight[v];
        for (std::uint32_t k = graph_.start[v]; k < graph_.start[v + 1]; ++k) {
            const std::uint32_t u = graph_.neighbour[k];
            if (member_[u] != stamp_ || side_[u] == 0) continue;
            gain_[u] += 2 * (graph_.out[k] + graph_.in[k]);
            queue.emplace(gain_[u], u);
        }
    }

    double cut(const Nodes& nodes) const {
        double total = 0;
        for (const std::uint32_t v : nodes)
            for (std::uint32_t k = graph_.start[v]; k < graph_.start[v + 1]; ++k)
                if (member_[graph_.neighbour[k]] == stamp_ && side_[v] < side_[graph_.neighbour[k]])
                    total += graph_.out[k] + graph_.in[k];
        return total;
    }

    /// Sets what moving v saves; with `alone` as if all others were on its side. Whether some are not.
    bool set_gain(std::uint32_t v, bool alone = false) {
        double gain = 0;
        bool is_boundary = false;
        for (std::uint32_t k = graph_.start[v]; k < graph_.start[v + 1]; ++k) {
            const std::uint32_t u = graph_.neighbour[k];
            if (member_[u] != stamp_) continue;
            const bool together = alone || side_[u] == side_[v];
            is_boundary = is_boundary || !together;
            gain += (together ? -1 : 1) * (graph_.out[k] + graph_.in[k]);
        }
        gain_[v] = gain;
        return is_boundary;
    }

    std::size_t at(std::uint32_t v) const { return side_[v] ? 1 : 0; }

    /// Whether moving from the side that is too light has to wait until the other one has given.
    bool waits(std::size_t side) const { return (side == 0) == (left_ < target_); }

    /// One pass of Fiduccia and Mattheyses; whether it has improved anything.
    bool climb(const Nodes& nodes) {
        std::vector<std::uint32_t> moved;
        double heaviest = 0, largest = 0;
        // Balanced halves change at their boundary alone; a node behind it waits until a neighbour moves.
        const bool balanced = std::abs(left_ - target_) <= slack_;
        waiting_.clear();
        if (index_.size() < graph_.nodes) index_.resize(graph_.nodes);
        for (std::uint32_t k = 0; k < nodes.size(); ++k) {
            const std::uint32_t v = nodes[k];
            index_[v] = k;
            const bool inside = !set_gain(v);
            heaviest = std::max(heaviest, graph_.weight[v]);
            if (fixed_[k] || (inside && balanced)) continue;
            waiting_.push_back(v);
            largest = std::max(largest, std::abs(gain_[v]));
        }
        std::shuffle(waiting_.begin(), waiting_.end(), random_);
        for (GainBuckets& queue : queues_) queue.reset(largest);
        for (const std::uint32_t v : waiting_) put(v);
        locked_.assign(nodes.size(), 0);
        const auto off_after = [&](std::uint32_t v) {
            return std::abs(left_ + (side_[v] ? 1 : -1) * graph_.weight[v] - target_);
        };
        // On the way a half may be off by a node more, else two could not change sides.
        const auto allowed = [&](std::uint32_t v) {
            const double off = off_after(v);
            return off <= slack_ + heaviest || off <= std::abs(left_ - target_);
        };
        double sum = 0, best = 0, best_off = std::abs(left_ - target_);
        std::size_t keep = 0;
        while (moved.size() < keep + kPatience) {
            std::int32_t first[2] = {-1, -1}, bucket = 0;
            for (const std::size_t side : {0U, 1U}) {
                while ((first[side] = queues_[side].pop(bucket)) >= 0)
                    if (allowed(number(first[side])) || waits(side)) break;
            }
            std::size_t from = 2;
            for (const std::size_t side : {0U, 1U}) {
                if (first[side] < 0 || !allowed(number(first[side]))) continue;
                if (from == 2 || gain_[number(first[side])] > gain_[number(first[from])]) from = side;
            }
            if (from == 2) break;
            if (first[1 - from] >= 0) put(number(first[1 - from]));
            const std::uint32_t v = number(first[from]);
            const double off = off_after(v);
            left_ += (side_[v] ? 1 : -1) * graph_.weight[v];
            side_[v] = side_[v] ? 0 : 1;
            sum += gain_[v];
            locked_[index_[v]] = 1;
            moved.push_back(v);
            const bool better = (off <= slack_ && best_off <= slack_) ? sum > best + 1e-12 : off < best_off;
            if (better) {
                best = sum;
                best_off = off;
                keep = moved.size();
            }
            for (std::uint32_t e = graph_.start[v]; e < graph_.start[v + 1]; ++e) {
                const std::uint32_t u = graph_.neighbour[e];
                if (member_[u] != stamp_ || locked_[index_[u]] || fixed_[index_[u]]) continue;
                gain_[u] += (side_[u] == side_[v] ? -2 : 2) * (graph_.out[e] + graph_.in[e]);
                put(u);
            }
        }
        for (std::size_t k = moved.size(); k-- > keep;) {
            const std::uint32_t v = moved[k];
            left_ += (side_[v] ? 1 : -1) * graph_.weight[v];
            side_[v] = side_[v] ? 0 : 1;
        }
        return keep > 0;
    }

    static std::uint32_t number(std::int32_t node) { return static_cast<std::uint32_t>(node); }

    void put(std::uint32_t v) { queues_[at(v)].put(static_cast<std::int32_t>(v), gain_[v]); }

    const CutGraph& graph_;
    const std::vector<std::uint32_t>& devices_;
    Random& random_;
    std::vector<std::size_t> place_;
    Labels labels_;
    std::vector<std::uint32_t> member_;
    std::vector<char> side_, fixed_;
    std::vector<double> gain_;
    std::vector<std::uint32_t> index_, waiting_;
    std::vector<char> locked_;
    GainBuckets queues_[2];  ///< by the side that a node is on
    std::uint32_t stamp_ = 0;
    double limit_, left_ = 0, target_ = 0, slack_ = 0, total_ = 0;
};

}  // namespace dse::partition
