// Members of the plain records that Python writes as JSON for the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "inputs/files/json.hpp"

namespace dse::prediction {

/// Members of an object, each of the kind that is asked for: a file of a plan, which has records, is
/// anyone's.
class Record {
public:
    explicit Record(const config::JsonValue& value) : value_(value) {}

    const config::JsonValue& at(std::string_view key) const {
        const config::JsonValue* found = value_.find(key);
        if (found == nullptr) throw InputError("prediction record: no " + std::string(key));
        return *found;
    }
    double number(std::string_view key) const {
        if (!at(key).is_number()) refuse(key, "a number");
        return at(key).number;
    }
    std::int64_t integer(std::string_view key) const {
        return std::stoll(of_kind(key, config::JsonKind::kInteger, "a whole number").text);
    }
    /// A number from 0 to `count` - 1.
    std::size_t index(std::string_view key, std::size_t count) const {
        const std::int64_t found = integer(key);
        if (found < 0 || static_cast<std::uint64_t>(found) >= count)
            refuse(key, "a number from 0 to " + std::to_string(static_cast<std::int64_t>(count) - 1));
        return static_cast<std::size_t>(found);
    }
    bool flag(std::string_view key) const {
        return of_kind(key, config::JsonKind::kBool, "true or false").boolean;
    }
    const std::string& text(std::string_view key) const {
        return of_kind(key, config::JsonKind::kString, "a text").text;
    }
    bool has(std::string_view key) const { return at(key).kind != config::JsonKind::kNull; }
    Record inner(std::string_view key) const {
        return Record(of_kind(key, config::JsonKind::kObject, "an object"));
    }
    const std::vector<config::JsonValue>& list(std::string_view key) const {
        return of_kind(key, config::JsonKind::kArray, "a list").items;
    }
    /// A list of one value at least.
    const std::vector<config::JsonValue>& filled(std::string_view key) const {
        if (list(key).empty()) refuse(key, "a list of at least one");
        return list(key);
    }
    const config::JsonValue& value() const { return value_; }

private:
    const config::JsonValue& of_kind(std::string_view key, config::JsonKind kind,
                                     std::string_view allowed) const {
        if (at(key).kind != kind) refuse(key, allowed);
        return at(key);
    }
    [[noreturn]] static void refuse(std::string_view key, std::string_view allowed) {
        throw InputError("prediction record: " + std::string(key) + " must be " + std::string(allowed));
    }

    const config::JsonValue& value_;
};

inline std::optional<double> optional_number(const Record& record, std::string_view key) {
    return record.has(key) ? std::optional(record.number(key)) : std::nullopt;
}

}  // namespace dse::prediction
