// Exact products of integers and truncated reciprocals, rounded twice.
#include "simulation/workloads/numbers.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <vector>

namespace dse::workload {

namespace {

__extension__ typedef unsigned __int128 uint128;

/// A non-negative integer of any length, least limb first; just what the number rule needs.
class BigInteger {
public:
    explicit BigInteger(std::uint64_t value) {
        limbs_ = {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
        trim();
    }

    static BigInteger power_of_two(unsigned exponent) {
        BigInteger result(0);
        result.limbs_.assign(exponent / 32 + 1, 0);
        result.limbs_.back() = 1U << (exponent % 32);
        return result;
    }

    BigInteger& operator*=(const BigInteger& other) {
        std::vector<std::uint32_t> product(limbs_.size() + other.limbs_.size(), 0);
        for (std::size_t i = 0; i < limbs_.size(); ++i) {
            std::uint64_t carry = 0;
            for (std::size_t j = 0; j < other.limbs_.size(); ++j) {
                carry += static_cast<std::uint64_t>(limbs_[i]) * other.limbs_[j] + product[i + j];
                product[i + j] = static_cast<std::uint32_t>(carry);
                carry >>= 32;
            }
            product[i + other.limbs_.size()] = static_cast<std::uint32_t>(carry);
        }
        limbs_ = std::move(product);
        trim();
        return *this;
    }

    /// Divides in place and returns the remainder.
    std::uint64_t divide(std::uint64_t divisor) {
        std::uint64_t remainder = 0;
        for (std::size_t i = limbs_.size(); i-- > 0;) {
            const uint128 current = (static_cast<uint128>(remainder) << 32) | limbs_[i];
            limbs_[i] = static_cast<std::uint32_t>(current / divisor);
            remainder = static_cast<std::uint64_t>(current % divisor);
        }
        trim();
        return remainder;
    }

    int bit_length() const {
        if (limbs_.empty()) return 0;
        return static_cast<int>(32 * limbs_.size()) - std::countl_zero(limbs_.back());
    }

    bool bit(int index) const {
        const auto limb = static_cast<std::size_t>(index / 32);
        return limb < limbs_.size() && ((limbs_[limb] >> (index % 32)) & 1U) != 0;
    }

    bool any_bit_below(int index) const {
        for (int i = 0; i < index; ++i) {
            if (bit(i)) return true;
        }
        return false;
    }

    /// The value of the bits from `low` upwards; at most 64 of them.
    std::uint64_t bits_from(int low) const {
        std::uint64_t value = 0;
        for (int i = bit_length() - 1; i >= low; --i) value = (value << 1) | (bit(i) ? 1U : 0U);
        return value;
    }

private:
    void trim() {
        while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
    }

    std::vector<std::uint32_t> limbs_;
};

/// mantissa * 2^exponent
struct Scaled {
    BigInteger mantissa;
    int exponent;
};

Scaled round_to_bits(const Scaled& value, int bits) {
    const int excess = value.mantissa.bit_length() - bits;
    if (excess <= 0) return value;
    std::uint64_t kept = value.mantissa.bits_from(excess);
    const bool half = value.mantissa.bit(excess - 1);
    const bool above_half = half && value.mantissa.any_bit_below(excess - 1);
    if (half && (above_half || (kept & 1U) != 0)) ++kept;
    return {BigInteger(kept), value.exponent + excess};
}

/// 1/divisor cut towards zero to `width` significant bits.
Scaled truncated_reciprocal(std::uint64_t divisor, int width) {
    if (std::has_single_bit(divisor)) return {BigInteger(1), -std::countr_zero(divisor)};
    const int shift = width - 1 + static_cast<int>(std::bit_width(divisor));
    BigInteger quotient = BigInteger::power_of_two(static_cast<unsigned>(shift));
    quotient.divide(divisor);
    return {quotient, -shift};
}

std::uint64_t power(std::int64_t base, int exponent) {
    std::uint64_t result = 1;
    for (int i = 0; i < exponent; ++i) result *= static_cast<std::uint64_t>(base);
    return result;
}

/// Numerator of the monomial, and whether the denominator divides it (then it has been divided out).
bool divide_out(const Monomial& monomial, const SymbolValues& values, BigInteger& product) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        for (int j = 0; j < monomial.exponent[i]; ++j) {
            product *= BigInteger(static_cast<std::uint64_t>(values[i]));
        }
    }
    if (monomial.times_five) product *= BigInteger(5);
    bool exact = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
        for (int j = monomial.exponent[i]; j < 0; ++j) {
            exact = product.divide(static_cast<std::uint64_t>(values[i])) == 0 && exact;
        }
    }
    return exact;
}

}  // namespace

bool is_whole(const Monomial& monomial, const SymbolValues& values) {
    BigInteger product(1);
    return divide_out(monomial, values, product);
}

double evaluate(const Monomial& monomial, const SymbolValues& values) {
    BigInteger whole(1);
    if (divide_out(monomial, values, whole) && whole.bit_length() <= 53) {
        return static_cast<double>(whole.bits_from(0));
    }
    int symbols_left = monomial.times_five ? 1 : 0;
    for (const std::int8_t exponent : monomial.exponent) symbols_left += exponent != 0 ? 1 : 0;
    const int width = 62 + symbols_left;

    Scaled product{BigInteger(monomial.times_five ? 5 : 1), 0};
    for (std::size_t i = 0; i < values.size(); ++i) {
        const int exponent = monomial.exponent[i];
        for (int j = 0; j < exponent; ++j) {
            product.mantissa *= BigInteger(static_cast<std::uint64_t>(values[i]));
        }
        if (exponent < 0) {
            const Scaled factor = truncated_reciprocal(power(values[i], -exponent), width);
            product.mantissa *= factor.mantissa;
            product.exponent += factor.exponent;
        }
    }
    const Scaled rounded = round_to_bits(round_to_bits(product, 57), 53);
    return std::ldexp(static_cast<double>(rounded.mantissa.bits_from(0)), rounded.exponent);
}

std::string decimal_text(double value) {
    char buffer[32];
    const auto [end, error] =
        std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
    static_cast<void>(error);  // 32 characters hold every double
    const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
    const std::size_t mark = text.find('e');
    std::string digits(1, text[0]);
    if (mark > 2) digits += text.substr(2, mark - 2);
    int exponent = 0;
    const char* first = text.data() + mark + 1 + (text[mark + 1] == '+' ? 1 : 0);
    std::from_chars(first, end, exponent);

    if (exponent >= 16 || exponent < -4) return std::string(text);
    if (exponent < 0) return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
    const auto whole_digits = static_cast<std::size_t>(exponent) + 1;
    if (digits.size() <= whole_digits) return digits + std::string(whole_digits - digits.size(), '0') + ".0";
    return digits.substr(0, whole_digits) + "." + digits.substr(whole_digits);
}

std::uint64_t leading_integer(std::string_view text) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::uint64_t leading_integer(double value) {
    if (value >= 1e-4 && value < 1e16) return static_cast<std::uint64_t>(value);
    return leading_integer(decimal_text(value));
}

}  // namespace dse::workload
