// Sorting small numbers of which each is kept once: by bits where there are many.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/problem/bits.hpp"

namespace dse::synthesis {

class NumberSorter {
public:
    /// For numbers below `limit`.
    explicit NumberSorter(std::size_t limit)
        : limit_(limit), marks_((limit + kWordBits - 1) / kWordBits, 0) {}

    void sort(std::vector<std::uint32_t>& numbers) {
        if (numbers.size() * 16 < limit_ || numbers.size() < 32) {
            std::sort(numbers.begin(), numbers.end());
            numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
            return;
        }
        for (const std::uint32_t number : numbers) insert(marks_.data(), number);
        numbers.clear();
        for (std::size_t w = 0; w < marks_.size(); ++w) {
            for (Word word = marks_[w]; word != 0; word &= word - 1)
                numbers.push_back(static_cast<std::uint32_t>(w * kWordBits) +
                                  static_cast<std::uint32_t>(__builtin_ctzll(word)));
            marks_[w] = 0;
        }
    }

private:
    std::size_t limit_;
    std::vector<Word> marks_;
};

}  // namespace dse::synthesis
