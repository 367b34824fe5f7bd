// Sets of chunks per node or per link, a bit a chunk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dse::synthesis {

using Word = std::uint64_t;
inline constexpr std::uint32_t kWordBits = 64;

inline bool has(const Word* row, std::uint32_t bit) {
    return (row[bit / kWordBits] >> (bit % kWordBits)) & 1;
}
inline void insert(Word* row, std::uint32_t bit) { row[bit / kWordBits] |= Word{1} << (bit % kWordBits); }
inline void erase(Word* row, std::uint32_t bit) { row[bit / kWordBits] &= ~(Word{1} << (bit % kWordBits)); }

/// The first of some places whose number is not in a row; `end` if there is none.
template <typename Number>
const Number* skip_members(const Number* place, const Number* end, const Word* row) {
    constexpr std::uint32_t kStep = 8;  // so many without a branch that cannot be foreseen
    for (; end - place >= kStep; place += kStep) {
        std::uint32_t members = 0;
        for (std::uint32_t i = kStep; i-- > 0;) members = 2 * members + has(row, place[i]);
        const std::uint32_t others = ~members & ((1U << kStep) - 1);
        if (others != 0) return place + __builtin_ctz(others);
    }
    const auto left = static_cast<std::uint32_t>(end - place);
    if (left == 0) return end;
    std::uint32_t members = 0;
    for (std::uint32_t i = kStep; i-- > 0;)  // the last one stands in for those behind it
        members = 2 * members + has(row, place[std::min(i, left - 1)]);
    const std::uint32_t others = ~members & ((1U << kStep) - 1);
    return others != 0 ? place + __builtin_ctz(others) : end;
}

/// Rows of `bits` bits each.
class BitRows {
public:
    BitRows() = default;
    BitRows(std::size_t rows, std::uint32_t bits, bool value = false)
        : words_((bits + kWordBits - 1) / kWordBits), data_(rows * words_, value ? ~Word{0} : 0) {}

    bool empty() const { return data_.empty(); }
    std::size_t words() const { return words_; }
    Word* operator[](std::size_t row) { return data_.data() + row * words_; }
    const Word* operator[](std::size_t row) const { return data_.data() + row * words_; }

private:
    std::size_t words_ = 0;
    std::vector<Word> data_;
};

}  // namespace dse::synthesis
