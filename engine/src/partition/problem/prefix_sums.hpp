// Sums over the nodes of a row, whose differences are right however unequal the nodes are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace dse::partition {

/// Each sum is kept with what rounding took from it (Knuth's two-sum): a plain difference of sums would lose
/// small nodes that come after large ones.
class PrefixSums {
public:
    explicit PrefixSums(std::size_t capacity) {
        sum_.reserve(capacity + 1);
        rest_.reserve(capacity + 1);
        sum_.push_back(0);
        rest_.push_back(0);
    }

    void add(double value) {
        const double before = sum_.back(), sum = before + value;
        const double added = sum - before;
        sum_.push_back(sum);
        rest_.push_back(rest_.back() + ((before - (sum - added)) + (value - added)));
    }

    double total() const { return between(0, sum_.size() - 1); }

    /// Of the nodes from i on, those before j.
    double between(std::size_t i, std::size_t j) const { return (sum_[j] - sum_[i]) + (rest_[j] - rest_[i]); }

    /// The last j with `between(i, j)` of at most `limit`; i if none.
    std::size_t last_within(std::size_t i, double limit) const {
        std::size_t low = i, step = 1;  // low is within
        while (low + step < sum_.size() && between(i, low + step) <= limit) {
            low += step;
            step *= 2;
        }
        std::size_t high = std::min(low + step, sum_.size());  // high is not
        while (high - low > 1) {
            const std::size_t middle = low + (high - low) / 2;
            (between(i, middle) <= limit ? low : high) = middle;
        }
        return low;
    }

    /// The first i with no more than `limit` from it on.
    std::size_t first_with_rest(double limit) const {
        const std::size_t end = sum_.size() - 1;
        std::size_t low = 0, high = end;  // what is before low is too much
        while (low < high) {
            const std::size_t middle = low + (high - low) / 2;
            if (between(middle, end) <= limit)
                high = middle;
            else
                low = middle + 1;
        }
        return low;
    }

private:
    std::vector<double> sum_, rest_;
};

}  // namespace dse::partition
