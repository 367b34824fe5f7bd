// Sizes and operation counts as the reference computes them.
#pragma once

#include <cstdint>
#include <string>

#include "simulation/workloads/symbols.hpp"

namespace dse::workload {

/// Value of a monomial: the exact integer where it is one below 2^53, else the reference's last bit.
///
/// Otherwise the rule is: each x^-j becomes 1/x^j cut to 62 + k significant bits (k: number of symbols left,
/// one more for the factor 5), the product is exact, then rounded to 57 and to 53 bits, ties to even.
double evaluate(const Monomial& monomial, const SymbolValues& values);

/// Whether the monomial is a whole number; a fractional shard otherwise.
bool is_whole(const Monomial& monomial, const SymbolValues& values);

/// The shortest decimal that reads back, with `.0` if integral and an exponent from 1e16 or below 1e-4.
std::string decimal_text(double value);

/// The integer before any other character of a size text: what the memory tracker reads.
std::uint64_t leading_integer(std::string_view text);

/// The same of the text of `value`, which has an exponent, and so another integer, outside 1e-4 to 1e16.
std::uint64_t leading_integer(double value);

}  // namespace dse::workload
