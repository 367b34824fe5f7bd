// Members of the plain records that Python writes as JSON for the engine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "inputs/files/json.hpp"

namespace dse::prediction {

/// Members of an object; a missing one is an error of the writer, since users do not write these records.
class Record {
public:
    explicit Record(const config::JsonValue& value) : value_(value) {}

    const config::JsonValue& at(std::string_view key) const {
        const config::JsonValue* found = value_.find(key);
        if (found == nullptr) throw InputError("prediction record: no " + std::string(key));
        return *found;
    }
    double number(std::string_view key) const { return at(key).number; }
    std::int64_t integer(std::string_view key) const { return std::stoll(at(key).text); }
    bool flag(std::string_view key) const { return at(key).boolean; }
    const std::string& text(std::string_view key) const { return at(key).text; }
    bool has(std::string_view key) const { return at(key).kind != config::JsonKind::kNull; }
    Record inner(std::string_view key) const { return Record(at(key)); }
    const std::vector<config::JsonValue>& list(std::string_view key) const { return at(key).items; }
    const config::JsonValue& value() const { return value_; }

private:
    const config::JsonValue& value_;
};

inline std::optional<double> optional_number(const Record& record, std::string_view key) {
    return record.has(key) ? std::optional(record.number(key)) : std::nullopt;
}

}  // namespace dse::prediction
