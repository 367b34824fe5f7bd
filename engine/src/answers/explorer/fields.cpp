// Reading by type, and what messages say.
#include "answers/explorer/fields.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "base/error.hpp"
#include "inputs/files/rules.hpp"
#include "inputs/files/text.hpp"

namespace dse::explorer {

using config::JsonKind;
using config::JsonValue;

namespace {

std::string bound_text(Range range) {
    std::string text = range.zero_allowed ? "0 or greater" : "greater than 0";
    if (range.most < std::numeric_limits<double>::infinity()) {
        char digits[32];
        std::snprintf(digits, sizeof digits, "%g", range.most);
        text += std::string(", and at most ") + digits;
    }
    return text;
}

bool is_within(double value, Range range) {
    constexpr double kGreatest = std::numeric_limits<double>::max();
    return value >= 0.0 && value <= std::min(range.most, kGreatest) && (value > 0.0 || range.zero_allowed);
}

}  // namespace

std::string shown(const JsonValue& value) {
    if (value.kind == JsonKind::kString) return std::string("'").append(config::excerpt(value.text)) + "'";
    return config::excerpt(value.is_number() ? value.text : to_text(value));
}

std::optional<std::int64_t> integer_of(const JsonValue& value) {
    if (value.kind != JsonKind::kInteger) return std::nullopt;
    std::int64_t number = 0;
    const char* const end = value.text.data() + value.text.size();
    const auto [stop, error] = std::from_chars(value.text.data(), end, number);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return number;
}

Fields::Fields(const JsonValue& object, std::string path, Names known)
    : object_(object), path_(std::move(path)) {
    if (object.kind != JsonKind::kObject) {
        throw InputError(path_ + " is " + shown(object) + "; it must be a group with the keys " +
                         config::join(known));
    }
    for (const config::JsonMember& member : object.members) {
        if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
        throw InputError("unknown key " + path_of(config::excerpt(member.key)) + "; keys of " + path_ +
                         " are " + config::join(known) + config::did_you_mean(member.key, known));
    }
}

const JsonValue* Fields::find(std::string_view key) const {
    const JsonValue* const value = object_.find(key);
    return value == nullptr || value->kind == JsonKind::kNull ? nullptr : value;
}

void Fields::fail(std::string_view key, const std::string& problem) const {
    throw InputError(path_of(key) + " " + problem);
}

const JsonValue& Fields::required(std::string_view key, std::string_view expected) const {
    const JsonValue* const value = object_.find(key);
    if (value == nullptr) fail(key, "has no value; it must be " + std::string(expected));
    return *value;
}

std::int64_t Fields::integer(std::string_view key, std::int64_t least, std::int64_t most) const {
    const JsonValue& value = required(key, "an integer");
    const std::optional<std::int64_t> number = integer_of(value);
    if (!number || *number < least || *number > most) {
        fail(key, "is " + shown(value) + "; it must be an integer from " + std::to_string(least) + " to " +
                      std::to_string(most));
    }
    return *number;
}

std::int64_t Fields::integer_or(std::string_view key, std::int64_t fallback, std::int64_t least,
                                std::int64_t most) const {
    return object_.find(key) == nullptr ? fallback : integer(key, least, most);
}

double Fields::number(std::string_view key, Range range) const {
    const JsonValue& value = required(key, "a number");
    if (!value.is_number() || !is_within(value.number, range)) {
        fail(key, "is " + shown(value) + "; it must be a number " + bound_text(range));
    }
    return value.number;
}

double Fields::number_or(std::string_view key, double fallback, Range range) const {
    return object_.find(key) == nullptr ? fallback : number(key, range);
}

bool Fields::flag_or(std::string_view key, bool fallback) const {
    const JsonValue* const value = object_.find(key);
    if (value == nullptr) return fallback;
    if (value->kind != JsonKind::kBool) fail(key, "is " + shown(*value) + "; it must be true or false");
    return value->boolean;
}

std::string Fields::text(std::string_view key) const {
    const JsonValue& value = required(key, "a text");
    if (value.kind != JsonKind::kString) fail(key, "is " + shown(value) + "; it must be a text");
    return value.text;
}

std::string Fields::choice_or(std::string_view key, std::string_view fallback, Names allowed) const {
    const JsonValue* const value = object_.find(key);
    if (value == nullptr) return std::string(fallback);
    if (value->kind != JsonKind::kString) {
        fail(key, "is " + shown(*value) + "; allowed are " + config::join(allowed));
    }
    if (std::find(allowed.begin(), allowed.end(), value->text) == allowed.end()) {
        fail(key, config::no_choice(value->text, allowed));
    }
    return value->text;
}

std::span<const JsonValue> Fields::list(std::string_view key) const {
    const JsonValue* const value = object_.find(key);
    if (value == nullptr) return {};
    if (value->kind != JsonKind::kArray) fail(key, "is " + shown(*value) + "; it must be a list");
    return value->items;
}

}  // namespace dse::explorer
