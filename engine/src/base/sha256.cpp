#include "base/sha256.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.hpp"

namespace dse {

namespace {

constexpr std::array<std::uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const std::uint8_t* bytes) {
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
           std::uint32_t{bytes[3]};
}

}  // namespace

void Sha256::take(const std::uint8_t* block) {
    std::array<std::uint32_t, 64> words;
    for (std::size_t i = 0; i < 16; ++i) words[i] = big_endian(block + 4 * i);
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t one = words[i - 15], two = words[i - 2];
        words[i] = words[i - 16] + (std::rotr(one, 7) ^ std::rotr(one, 18) ^ one >> 3) + words[i - 7] +
                   (std::rotr(two, 17) ^ std::rotr(two, 19) ^ two >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                    ((e & f) ^ (~e & g)) + kRoundConstants[i] + words[i];
        const std::uint32_t second =
            (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + second;
    }
    const std::array<std::uint32_t, 8> added = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < added.size(); ++i) state_[i] += added[i];
}

void Sha256::add(std::string_view text) {
    while (!text.empty()) {
        const std::size_t filled = size_ % pending_.size();
        const std::size_t taken = std::min(text.size(), pending_.size() - filled);
        std::memcpy(pending_.data() + filled, text.data(), taken);
        size_ += taken;
        text.remove_prefix(taken);
        if (filled + taken == pending_.size()) take(pending_.data());
    }
}

std::array<std::uint8_t, 32> Sha256::digest() const {
    Sha256 last = *this;
    const std::uint64_t bits = 8 * size_;
    const std::size_t filled = size_ % pending_.size();
    std::string ending((filled < 56 ? 56 : 120) - filled + 8, '\0');
    ending[0] = static_cast<char>(0x80);
    for (std::size_t i = 0; i < 8; ++i) {
        ending[ending.size() - 1 - i] = static_cast<char>(bits >> (8 * i) & 0xff);
    }
    last.add(ending);
    std::array<std::uint8_t, 32> found;
    for (std::size_t i = 0; i < found.size(); ++i) {
        found[i] = static_cast<std::uint8_t>(last.state_[i / 4] >> (24 - 8 * (i % 4)) & 0xff);
    }
    return found;
}

std::vector<std::uint8_t> hashed_rows(std::string_view prefix,
                                      const std::vector<std::vector<std::string>>& texts,
                                      std::span<const std::int32_t> chosen, std::size_t rows,
                                      std::size_t bytes) {
    std::size_t columns = 0;
    for (const auto& list : texts) columns += list.size() > 1 ? 1 : 0;
    const bool is_empty =
        std::any_of(texts.begin(), texts.end(), [](const auto& list) { return list.empty(); });
    if (chosen.size() != rows * columns || bytes > 32 || is_empty) {
        throw InputError("a row of a hash has a number for each list of several texts");
    }
    Sha256 begun;
    begun.add(prefix);
    std::vector<std::uint8_t> found(rows * bytes);
    std::string text;
    for (std::size_t row = 0; row < rows; ++row) {
        text.clear();
        std::size_t at = row * columns;
        for (const auto& list : texts) {
            text += list.size() > 1 ? list.at(static_cast<std::size_t>(chosen[at++])) : list.front();
        }
        Sha256 own = begun;
        own.add(text);
        const std::array<std::uint8_t, 32> digest = own.digest();
        std::copy_n(digest.begin(), bytes, found.begin() + static_cast<std::ptrdiff_t>(row * bytes));
    }
    return found;
}

}  // namespace dse
