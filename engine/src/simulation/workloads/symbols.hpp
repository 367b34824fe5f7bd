// Symbols, dimension tokens and layouts of tensors.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/workloads/strategy.hpp"

namespace dse::workload {

/// The free symbols of every size: model dimensions, then degrees in the order of kAxes.
enum Symbol : std::uint8_t {
    kDin,
    kDout,
    kDmodel,
    kDff,
    kHead,
    kKvHead,
    kSeq,
    kBatch,
    kFirstDegree,
    kSymbolCount = kFirstDegree + kAxes.size()
};
constexpr Symbol symbol_of(Axis axis) {
    return static_cast<Symbol>(kFirstDegree + static_cast<std::size_t>(axis));
}

using SymbolValues = std::array<std::int64_t, kSymbolCount>;

/// A product of powers of symbols, times 5 for element-wise operators.
struct Monomial {
    std::array<std::int8_t, kSymbolCount> exponent{};
    bool times_five = false;

    Monomial& operator*=(const Monomial& other);
    friend Monomial operator*(Monomial a, const Monomial& b) { return a *= b; }
    bool operator==(const Monomial&) const = default;
};

/// One dimension of a tensor on a rank, such as `Seq/sp`.
struct Token {
    char letter;
    std::string_view text;
    Monomial size;

    bool contains(Axis axis) const;
};

/// The token of a letter of the tables of blocks. Throws std::logic_error for an unknown letter.
const Token& token(char letter);

/// A layout is the letters of its tokens, for instance "BSm".
using Layout = std::string_view;

/// Product of the dimensions of a layout.
Monomial size_of(Layout layout);

/// Texts joined by commas, as attributes show a layout: `Batch/dp,Seq/sp,Dmodel/tp`.
std::string text_of(Layout layout);

}  // namespace dse::workload
