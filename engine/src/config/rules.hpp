// Rules that values of configuration files must keep, with the messages of dse/systems/validation.py.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace dse::config {

inline constexpr std::int64_t kMaxInteger =
    std::numeric_limits<std::int32_t>::max();  ///< the reference's int

/// A value of a file: where it stands, how it is shown.
struct Place {
    const std::string& path;
    std::string key;

    /// Throws an InputError `<path>: <key> <problem>`.
    [[noreturn]] void fail(const std::string& problem) const;
};

/// `value` must be an integer from `least` to 2^31 - 1.
std::uint32_t integer_in_range(const Place& place, double value, const std::string& shown,
                               std::int64_t least);

/// `value` must be finite and 0 or greater, or greater than 0.
double number_in_range(const Place& place, double value, const std::string& shown, bool zero_allowed);

/// `value` must be one of `allowed`.
void require_choice(const Place& place, std::string_view value, std::span<const std::string_view> allowed);

/// Throws if `key` is not among `known`, with the nearest known key or all of them.
void require_known_key(const std::string& path, std::string_view key,
                       std::span<const std::string_view> known);

}  // namespace dse::config
