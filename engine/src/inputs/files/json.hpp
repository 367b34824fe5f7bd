// A strict JSON parser for configuration files: every value knows where it stands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dse::config {

enum class JsonKind : std::uint8_t { kNull, kBool, kInteger, kReal, kString, kArray, kObject };

struct JsonMember;

struct JsonValue {
    JsonKind kind = JsonKind::kNull;
    bool boolean = false;
    double number = 0.0;  ///< of integers and reals; infinite if too large for a double
    std::string text;     ///< a string; of numbers the digits as they stand in the file
    std::vector<JsonValue> items;
    std::vector<JsonMember> members;  ///< of an object, in order of the file

    bool is_number() const { return kind == JsonKind::kInteger || kind == JsonKind::kReal; }
    /// The member of an object, null if there is none.
    const JsonValue* find(std::string_view key) const;
};

struct JsonMember {
    std::string key;
    JsonValue value;
};

/// Parses a whole text. Throws InputError with path, line, column and reason: what is not JSON, a key that
/// occurs twice, more than 100 levels, NaN and Infinity, a byte that is not UTF-8.
JsonValue parse_json(std::string_view text, const std::string& path);

/// The same, and the value must be an object.
JsonValue parse_json_object(std::string_view text, const std::string& path);

/// The value as JSON in one line, for messages.
std::string to_text(const JsonValue& value);

}  // namespace dse::config
