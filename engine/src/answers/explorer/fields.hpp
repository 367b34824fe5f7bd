// Members of the objects of a request, read by type; messages name keys as users write them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inputs/files/json.hpp"

namespace dse::explorer {

using Names = std::span<const std::string_view>;

inline constexpr std::int64_t kMostOfInt32 = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t kMostOfInt64 = std::numeric_limits<std::int64_t>::max();

/// How a value is shown: numbers as they were written, texts between quotes.
std::string shown(const config::JsonValue& value);

/// The range of a number. An infinite `most` allows any.
struct Range {
    bool zero_allowed = false;
    double most = std::numeric_limits<double>::infinity();
};

/// An object at `path`, such as system.network.0. All functions throw InputError: a key is unknown, or has no
/// value, or one that is not allowed.
class Fields {
public:
    Fields(const config::JsonValue& object, std::string path, Names known);

    /// A member that is there and not null.
    const config::JsonValue* find(std::string_view key) const;
    bool has(std::string_view key) const { return find(key) != nullptr; }
    std::string path_of(std::string_view key) const { return path_ + "." + std::string(key); }

    std::int64_t integer(std::string_view key, std::int64_t least, std::int64_t most = kMostOfInt32) const;
    std::int64_t integer_or(std::string_view key, std::int64_t fallback, std::int64_t least,
                            std::int64_t most = kMostOfInt32) const;
    double number(std::string_view key, Range range) const;
    double number_or(std::string_view key, double fallback, Range range) const;
    bool flag_or(std::string_view key, bool fallback) const;
    std::string text(std::string_view key) const;
    std::string choice_or(std::string_view key, std::string_view fallback, Names allowed) const;
    /// The items of a list, none if there is no list.
    std::span<const config::JsonValue> list(std::string_view key) const;

    /// `<path>.<key> <problem>`.
    [[noreturn]] void fail(std::string_view key, const std::string& problem) const;

private:
    const config::JsonValue& required(std::string_view key, std::string_view expected) const;

    const config::JsonValue& object_;
    std::string path_;
};

/// The integer that a value is, if it is one and fits.
std::optional<std::int64_t> integer_of(const config::JsonValue& value);

}  // namespace dse::explorer
