// The dimension tokens: fifteen, and two of grouped-query attention; and arithmetic on layouts.
#include "simulation/workloads/symbols.hpp"

#include <stdexcept>

namespace dse::workload {

namespace {

constexpr Symbol kDp = symbol_of(Axis::kData);
constexpr Symbol kTp = symbol_of(Axis::kTensor);
constexpr Symbol kSp = symbol_of(Axis::kSequence);

Monomial monomial(std::initializer_list<Symbol> over, std::initializer_list<Symbol> under = {}) {
    Monomial result;
    for (const Symbol symbol : over) ++result.exponent[symbol];
    for (const Symbol symbol : under) --result.exponent[symbol];
    return result;
}

const std::array<Token, 17>& tokens() {
    static const std::array<Token, 17> table = {{
        {'B', "Batch/dp", monomial({kBatch}, {kDp})},
        {'S', "Seq/sp", monomial({kSeq}, {kSp})},
        {'Q', "Seq", monomial({kSeq})},
        {'f', "Dff/tp", monomial({kDff}, {kTp})},
        {'M', "Dmodel", monomial({kDmodel})},
        {'m', "Dmodel/tp", monomial({kDmodel}, {kTp})},
        {'d', "Dmodel/Head", monomial({kDmodel}, {kHead})},
        {'h', "Head/tp", monomial({kHead}, {kTp})},
        {'g', "KvHead/tp", monomial({kKvHead}, {kTp})},
        {'r', "Head/KvHead", monomial({kHead}, {kKvHead})},
        {'I', "Din", monomial({kDin})},
        {'i', "Din/tp", monomial({kDin}, {kTp})},
        {'o', "Dout/tp", monomial({kDout}, {kTp})},
        {'U', "Din/(dp*sp)", monomial({kDin}, {kDp, kSp})},
        {'W', "Dmodel/(dp*sp)", monomial({kDmodel}, {kDp, kSp})},
        {'D', "Dmodel/dp", monomial({kDmodel}, {kDp})},
        {'e', "Dmodel/(Head*sp)", monomial({kDmodel}, {kHead, kSp})},
    }};
    return table;
}

}  // namespace

Monomial& Monomial::operator*=(const Monomial& other) {
    for (std::size_t i = 0; i < exponent.size(); ++i) {
        exponent[i] = static_cast<std::int8_t>(exponent[i] + other.exponent[i]);
    }
    times_five = times_five || other.times_five;
    return *this;
}

bool Token::contains(Axis axis) const { return size.exponent[symbol_of(axis)] < 0; }

const Token& token(char letter) {
    for (const Token& candidate : tokens()) {
        if (candidate.letter == letter) return candidate;
    }
    throw std::logic_error(std::string("unknown dimension token ") + letter);
}

Monomial size_of(Layout layout) {
    Monomial result;
    for (const char letter : layout) result *= token(letter).size;
    return result;
}

std::string text_of(Layout layout) {
    std::string text;
    for (const char letter : layout) {
        if (!text.empty()) text += ',';
        text += token(letter).text;
    }
    return text;
}

}  // namespace dse::workload
