// Recursive descent over the text; positions are turned into lines and columns for messages only.
#include "inputs/files/json.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "inputs/files/text.hpp"

namespace dse::config {

namespace {

constexpr int kMostLevels = 100;

class JsonParser {
public:
    JsonParser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

    JsonValue parse() {
        require_utf8(text_, path_);
        JsonValue value = parse_value(0);
        skip_blanks();
        if (at_ < text_.size()) malformed("nothing may follow the value");
        return value;
    }

private:
    std::string place(std::size_t at) const {
        const std::string_view before = text_.substr(0, at);
        const auto line = std::count(before.begin(), before.end(), '\n') + 1;
        const std::size_t newline = before.rfind('\n');
        const std::size_t column = newline == std::string_view::npos ? at + 1 : at - newline;
        return "line " + std::to_string(line) + ", column " + std::to_string(column);
    }

    [[noreturn]] void malformed(const std::string& reason) const {
        throw InputError(path_ + ": malformed JSON at " + place(at_) + ": " + reason);
    }

    void skip_blanks() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
            ++at_;
        }
    }

    bool take(std::string_view word) {
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }

    JsonValue parse_value(int level) {
        if (level > kMostLevels) malformed("more than " + std::to_string(kMostLevels) + " levels");
        skip_blanks();
        JsonValue value;
        if (at_ == text_.size()) malformed("a value is missing");
        const char first = text_[at_];
        if (first == '{') {
            parse_object(value, level);
        } else if (first == '[') {
            parse_array(value, level);
        } else if (first == '"') {
            value.kind = JsonKind::kString;
            value.text = parse_string();
        } else if (first == '-' || (first >= '0' && first <= '9')) {
            parse_number(value);
        } else if (take("true") || take("false")) {
            value.kind = JsonKind::kBool;
            value.boolean = first == 't';
        } else if (!take("null")) {
            refuse_constant();
            malformed("expected a value");
        }
        return value;
    }

    void refuse_constant() const {
        for (const std::string_view constant : {"NaN", "Infinity", "-Infinity"}) {
            if (!text_.substr(at_).starts_with(constant)) continue;
            throw InputError(path_ + ": " + std::string(constant) + " (" + place(at_) +
                             ") is not a JSON number; numbers must be finite");
        }
    }

    void parse_object(JsonValue& object, int level) {
        object.kind = JsonKind::kObject;
        std::set<std::string> keys;
        ++at_;
        skip_blanks();
        if (take("}")) return;
        do {
            skip_blanks();
            const std::size_t begin = at_;
            if (at_ == text_.size() || text_[at_] != '"') malformed("expected a key in double quotes");
            std::string key = parse_string();
            if (!keys.insert(key).second) {
                throw InputError(path_ + ": " + key + " occurs twice (" + place(begin) +
                                 "); every key is allowed once");
            }
            skip_blanks();
            if (!take(":")) malformed("expected ':' after the key");
            object.members.push_back({std::move(key), parse_value(level + 1)});
            skip_blanks();
        } while (take(","));
        if (!take("}")) malformed("expected ',' or '}'");
    }

    void parse_array(JsonValue& array, int level) {
        array.kind = JsonKind::kArray;
        ++at_;
        skip_blanks();
        if (take("]")) return;
        do {
            array.items.push_back(parse_value(level + 1));
            skip_blanks();
        } while (take(","));
        if (!take("]")) malformed("expected ',' or ']'");
    }

    std::string parse_string() {
        std::string result;
        const std::size_t begin = at_++;
        while (true) {
            if (at_ == text_.size()) {
                at_ = begin;
                malformed("the string has no end");
            }
            const char c = text_[at_];
            if (static_cast<unsigned char>(c) < 0x20) malformed("a control character in a string");
            ++at_;
            if (c == '"') return result;
            if (c == '\\') {
                parse_escape(result);
            } else {
                result += c;
            }
        }
    }

    void parse_escape(std::string& result) {
        constexpr std::string_view kNames = "\"\\/bfnrt";
        constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
        const char name = at_ < text_.size() ? text_[at_] : '\0';
        if (name == 'u') {
            ++at_;
            append_utf8(result, parse_code_point());
            return;
        }
        const std::size_t index = kNames.find(name);
        if (index == std::string_view::npos) malformed("an unknown escape in a string");
        ++at_;
        result += kMeanings[index];
    }

    std::uint32_t parse_code_point() {
        const std::uint32_t high = parse_four_digits();
        if (high < 0xd800 || high > 0xdfff) return high;
        if (high > 0xdbff || !take("\\u")) malformed("half a surrogate pair in a string");
        const std::uint32_t low = parse_four_digits();
        if (low < 0xdc00 || low > 0xdfff) malformed("half a surrogate pair in a string");
        return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    }

    std::uint32_t parse_four_digits() {
        std::uint32_t value = 0;
        for (int i = 0; i < 4; ++i) {
            constexpr std::string_view kDigits = "0123456789abcdef0123456789ABCDEF";
            const std::size_t digit = at_ < text_.size() ? kDigits.find(text_[at_]) : std::string_view::npos;
            if (digit == std::string_view::npos) malformed("\\u needs four hexadecimal digits");
            value = value << 4 | static_cast<std::uint32_t>(digit % 16);
            ++at_;
        }
        return value;
    }

    bool skip_digits() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
        return at_ > begin;
    }

    void parse_number(JsonValue& value) {
        refuse_constant();
        const std::size_t begin = at_;
        value.kind = JsonKind::kInteger;
        take("-");
        if (!take("0") && !skip_digits()) malformed("expected a digit");
        if (take(".")) {
            value.kind = JsonKind::kReal;
            if (!skip_digits()) malformed("expected a digit after the point");
        }
        if (take("e") || take("E")) {
            value.kind = JsonKind::kReal;
            if (!take("+")) take("-");
            if (!skip_digits()) malformed("expected a digit in the exponent");
        }
        value.text = text_.substr(begin, at_ - begin);
        value.number = number_of(value.text).value();
    }

    std::string_view text_;
    const std::string& path_;
    std::size_t at_ = 0;
};

const char* name_of(JsonKind kind) {
    switch (kind) {
        case JsonKind::kBool:
            return "boolean";
        case JsonKind::kInteger:
        case JsonKind::kReal:
            return "number";
        case JsonKind::kString:
            return "string";
        case JsonKind::kArray:
            return "list";
        default:
            return "null";
    }
}

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return result + '"';
}

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
    for (const auto& [name, value] : members) {
        if (name == key) return &value;
    }
    return nullptr;
}

JsonValue parse_json(std::string_view text, const std::string& path) {
    return JsonParser(text, path).parse();
}

JsonValue parse_json_object(std::string_view text, const std::string& path) {
    JsonValue value = parse_json(text, path);
    if (value.kind != JsonKind::kObject) {
        throw InputError(path + ": holds a " + name_of(value.kind) + "; it must hold a JSON object {...}");
    }
    return value;
}

std::string to_text(const JsonValue& value) {
    std::string text;
    switch (value.kind) {
        case JsonKind::kNull:
            return "null";
        case JsonKind::kBool:
            return value.boolean ? "true" : "false";
        case JsonKind::kInteger:
        case JsonKind::kReal:
            return value.text;
        case JsonKind::kString:
            return quoted(value.text);
        case JsonKind::kArray:
            for (const JsonValue& item : value.items) text += (text.empty() ? "" : ", ") + to_text(item);
            return "[" + text + "]";
        case JsonKind::kObject:
            for (const auto& [key, item] : value.members) {
                text += (text.empty() ? "" : ", ") + quoted(key) + ": " + to_text(item);
            }
            return "{" + text + "}";
    }
    return text;
}

}  // namespace dse::config
