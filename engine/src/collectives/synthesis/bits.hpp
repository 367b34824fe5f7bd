// Sets of chunks per node or per link, a bit a chunk.
#pragma once

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
