// SHA-256 (FIPS 180-4), and the hashes of many texts that share a beginning.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dse {

/// A hash of what has been added so far; a copy goes on by itself.
class Sha256 {
public:
    void add(std::string_view text);
    std::array<std::uint8_t, 32> digest() const;

private:
    void take(const std::uint8_t* block);

    std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<std::uint8_t, 64> pending_{};
    std::uint64_t size_ = 0;
};

/// The first `bytes` bytes of the hash of each row: `prefix`, then of each list the text that a row chooses.
/// `chosen` has a number for each list with several texts, row by row; a list with one needs none.
std::vector<std::uint8_t> hashed_rows(std::string_view prefix,
                                      const std::vector<std::vector<std::string>>& texts,
                                      std::span<const std::int32_t> chosen, std::size_t rows,
                                      std::size_t bytes);

}  // namespace dse
