// A chain as sums along it: what a device can take from a position on, and what a cut costs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "partition/problem/prefix_sums.hpp"
#include "partition/problem/problem.hpp"

namespace dse::partition {

using Positions = std::vector<std::uint32_t>;  ///< ascending; i: the first i nodes are done

/// Sums along the chain.
class Chain {
public:
    explicit Chain(const Problem& problem)
        : problem_(problem),
          sum_(problem.nodes),
          memory_(problem.nodes),
          messages_(problem.nodes + 1, 0.0),
          bytes_(problem.nodes + 1, 0.0),
          pin_(problem.nodes + 1),
          other_pin_(problem.nodes + 1) {
        const std::size_t n = problem.nodes;
        std::vector<std::uint32_t> place(n);
        for (std::uint32_t k = 0; k < n; ++k) {
            place[problem.order[k]] = k;
            sum_.add(problem.weight[problem.order[k]]);
            memory_.add(problem.memory[problem.order[k]]);
        }
        std::vector<bool> seen(problem.tensors, false);
        for (const Edge& edge : problem.edges) {
            if (seen[edge.tensor]) continue;
            seen[edge.tensor] = true;
            messages_[place[edge.to]] += 1;
            bytes_[place[edge.to]] += edge.bytes;
        }
        if (n > 1) {
            least_messages_ = *std::min_element(messages_.begin() + 1, messages_.end() - 1);
            least_bytes_ = *std::min_element(bytes_.begin() + 1, bytes_.end() - 1);
        }
        pin_[n] = other_pin_[n] = static_cast<std::uint32_t>(n);
        for (std::size_t k = n; k-- > 0;) {
            const std::int32_t pin = problem.pinned[problem.order[k]];
            const std::uint32_t next = pin_[k + 1];
            if (pin < 0) {
                pin_[k] = next;
                continue;
            }
            pin_[k] = static_cast<std::uint32_t>(k);
            other_pin_[k] = next < n && problem.pinned[problem.order[next]] == pin ? other_pin_[next] : next;
        }
    }

    std::size_t size() const { return problem_.nodes; }
    /// Of the nodes from position i on, those before j.
    double sum(std::size_t i, std::size_t j) const { return sum_.between(i, j); }
    double total() const { return sum_.total(); }

    double most_messages() const { return *std::max_element(messages_.begin(), messages_.end()); }
    double most_bytes() const { return *std::max_element(bytes_.begin(), bytes_.end()); }

    /// ns to bring what crosses position i from device a to device b.
    double transfer(std::size_t a, std::size_t b, std::size_t i) const {
        if (i == 0) return 0;
        return messages_[i] * problem_.latency(a, b) + bytes_[i] * problem_.per_byte(a, b);
    }

    /// Whether a piece from i on a device with `time_ns` for its work may end at or after `low`.
    bool reaches(std::size_t i, std::size_t low, std::size_t device, double time_ns) const {
        return low <= i || sum_.between(i, low) <= time_ns * problem_.speed[device];
    }

    /// The furthest end of a piece from i on a device with `time_ns` for its work; i if none.
    std::size_t furthest(std::size_t i, std::size_t device, double time_ns) const {
        if (time_ns < 0) return i;
        std::size_t end = sum_.last_within(i, time_ns * problem_.speed[device]);
        if (problem_.capacity[device] < kInfinite)
            end = std::min(end, memory_.last_within(i, most_within(problem_.capacity[device])));
        const std::uint32_t pin = pin_[i];
        if (pin == size()) return end;
        const bool own = problem_.pinned[problem_.order[pin]] == static_cast<std::int32_t>(device);
        return std::min<std::size_t>(end, own ? other_pin_[pin] : pin);
    }

    /// No less than this is brought across any cut.
    double least_transfer(std::size_t a, std::size_t b) const {
        return least_messages_ * problem_.latency(a, b) + least_bytes_ * problem_.per_byte(a, b);
    }

    /// The first position from which no more than `work` is left.
    std::size_t first_with_rest(double work) const { return sum_.first_with_rest(work * (1 + kSlack)); }

    /// No cut costs anything: only the furthest position matters.
    bool cuts_are_free() const {
        for (std::size_t a = 0; a < problem_.devices; ++a)
            for (std::size_t b = 0; b < problem_.devices; ++b)
                if (a != b && (problem_.latency(a, b) > 0 || problem_.per_byte(a, b) > 0)) return false;
        return true;
    }

private:
    const Problem& problem_;
    PrefixSums sum_, memory_;
    std::vector<double> messages_, bytes_;  ///< across the cut before each position
    double least_messages_ = 0, least_bytes_ = 0;
    std::vector<std::uint32_t> pin_, other_pin_;  ///< the next pinned node, and the next with another pin
};

/// Marks intervals (i, end] for ascending i, and yields their union from `low` on.
class Cover {
public:
    explicit Cover(std::size_t size) : marks_(size + 2, 0) {}

    void add(std::size_t i, std::size_t end) {
        if (end <= i) return;
        ++marks_[i + 1];
        --marks_[end + 1];
        first_ = std::min(first_, i + 1);
        last_ = std::max(last_, end);
    }
    Positions take(std::size_t low, bool only_last) {
        Positions out;
        int open = 0;
        for (std::size_t i = first_; i <= last_; ++i) {
            open += marks_[i];
            marks_[i] = 0;
            if (open > 0 && i >= low) out.push_back(static_cast<std::uint32_t>(i));
        }
        if (first_ <= last_) marks_[last_ + 1] = 0;
        if (only_last && out.size() > 1) out = {out.back()};
        first_ = marks_.size();
        last_ = 0;
        return out;
    }

private:
    std::vector<int> marks_;
    std::size_t first_ = SIZE_MAX, last_ = 0;
};

}  // namespace dse::partition
