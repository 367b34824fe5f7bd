// Rules that values of configuration files must keep, with their messages.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace dse::config {

inline constexpr std::int64_t kMaxInteger =
    std::numeric_limits<std::int32_t>::max();  ///< the reference's int
inline constexpr std::int64_t kMaxNpus = std::int64_t{1} << 24;
inline constexpr std::int64_t kMaxChunks = std::int64_t{1} << 16;  ///< of a collective: each is a stream
inline constexpr double kMaxSpeed = 1e30;  ///< far above what is built, far below where products overflow

/// A value of a file: where it stands, how it is shown.
struct Place {
    const std::string& path;
    std::string key;

    /// Throws an InputError `<path>: <key> <problem>`.
    [[noreturn]] void fail(const std::string& problem) const;
};

/// `value` must be an integer from `least` to `most`.
std::uint32_t integer_in_range(const Place& place, double value, const std::string& shown, std::int64_t least,
                               std::int64_t most = kMaxInteger);

/// `value` must be finite and 0 or greater, or greater than 0; `is_speed`: at most kMaxSpeed, too.
double number_in_range(const Place& place, double value, const std::string& shown, bool zero_allowed,
                       bool is_speed);

/// "is 'value'; allowed are …", with the nearest of them.
std::string no_choice(std::string_view value, std::span<const std::string_view> allowed);

/// `value` must be one of `allowed`.
void require_choice(const Place& place, std::string_view value, std::span<const std::string_view> allowed);

/// Throws if `key` is not among `known`, with the nearest known key or all of them.
void require_known_key(const std::string& path, std::string_view key,
                       std::span<const std::string_view> known);

}  // namespace dse::config
