// One pass over the text; a line is a key, an item of the sequence below a key, or blank.
#include "inputs/files/yaml.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "inputs/files/text.hpp"

namespace dse::config {

namespace {

constexpr int kMostListLevels = 8;
constexpr std::string_view kFlowMarks = ",[]{}";
// A plain text must not begin with these: they begin what we do not read, or quotes and comments.
constexpr std::string_view kReserved = "&*!|>%@`{}[]?,:#'\"";

class YamlParser {
public:
    YamlParser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

    YamlMapping parse() {
        require_utf8(text_, path_);
        take("\xef\xbb\xbf");
        skip_to_content();
        if (take("---")) expect_end_of_line();
        YamlMapping mapping;
        std::set<std::string> keys;
        while (skip_to_content()) {
            const std::size_t line = line_;
            if (indent() > 0) malformed("the line is indented, but no value is expected there");
            std::string key = parse_key();
            if (!keys.insert(key).second) {
                throw InputError(path_ + ": " + key + " occurs twice (line " + std::to_string(line) +
                                 "); every key is allowed once");
            }
            mapping.emplace_back(std::move(key), parse_value_of_key());
        }
        if (mapping.empty()) throw InputError(path_ + ": must hold a YAML mapping of keys to lists");
        return mapping;
    }

private:
    [[noreturn]] void malformed(const std::string& reason) const {
        throw InputError(path_ + ": malformed YAML at line " + std::to_string(line_) + ", column " +
                         std::to_string(indent() + 1) + ": " + reason);
    }

    bool at_end() const { return at_ == text_.size(); }
    char here() const { return at_end() ? '\n' : text_[at_]; }
    char after() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\n'; }
    static bool is_blank(char c) { return c == ' ' || c == '\t'; }
    static bool is_break(char c) { return c == '\n' || c == '\r'; }
    static bool ends_word(char c) { return is_blank(c) || is_break(c); }
    std::size_t indent() const { return at_ - line_begin_; }

    bool take(std::string_view word) {
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }

    void skip_blanks() {
        while (!at_end() && is_blank(here())) ++at_;
    }

    /// Skips blanks and a comment; false if something else stands in the line.
    bool skip_rest_of_line() {
        const std::size_t begin = at_;
        skip_blanks();
        const bool may_begin_comment = at_ > begin || indent() == 0;
        if (!at_end() && here() == '#' && may_begin_comment) {
            while (!at_end() && !is_break(here())) ++at_;
        }
        return at_end() || is_break(here());
    }

    void next_line() {
        if (at_end()) return;
        if (!take("\r\n")) ++at_;
        ++line_;
        line_begin_ = at_;
    }

    void expect_end_of_line() {
        if (!skip_rest_of_line()) malformed("expected the end of the line");
    }

    /// Goes to the first character of the next line that holds something; false at the end of the text.
    bool skip_to_content() {
        while (skip_rest_of_line()) {
            if (at_end()) return false;
            next_line();
        }
        const std::string_view before = text_.substr(line_begin_, indent());
        if (before.find('\t') != std::string_view::npos) malformed("a tab cannot indent");
        return true;
    }

    std::string parse_key() {
        std::string key;
        if (here() == '"' || here() == '\'') {
            key = parse_quoted();
            skip_blanks();
        } else {
            if (kReserved.find(here()) != std::string_view::npos || (here() == '-' && ends_word(after()))) {
                malformed("expected a key");
            }
            const std::size_t begin = at_;
            while (!at_end() && !is_break(here()) && !(here() == ':' && ends_word(after()))) ++at_;
            key = trimmed(begin);
        }
        if (here() != ':' || !ends_word(after())) malformed("expected ': ' after the key");
        ++at_;
        return key;
    }

    YamlValue parse_value_of_key() {
        if (skip_rest_of_line()) return parse_block();
        YamlValue value = parse_value(0);
        expect_end_of_line();
        return value;
    }

    /// Lines of `- item` below a key, at the same indentation; nothing there is an empty text.
    YamlValue parse_block() {
        YamlValue list;
        list.line = line_;
        std::optional<std::size_t> depth;
        while (skip_to_content() && here() == '-' && ends_word(after())) {
            if (depth && indent() != *depth) malformed("items of a list must be indented alike");
            depth = indent();
            list.is_list = true;
            ++at_;
            if (skip_rest_of_line()) malformed("an item of a list is empty");
            if (here() == '-' && ends_word(after())) malformed("write a nested list in brackets");
            list.items.push_back(parse_value(0));
            expect_end_of_line();
        }
        return list;
    }

    YamlValue parse_value(int level) {
        YamlValue value;
        value.line = line_;
        if (here() == '[') {
            parse_flow_list(value, level);
        } else if (here() == '"' || here() == '\'') {
            value.text = parse_quoted();
        } else {
            value.text = parse_plain(level > 0);
        }
        return value;
    }

    /// Skips blanks, comments and line breaks inside brackets.
    void skip_in_list() {
        while (skip_rest_of_line() && !at_end()) next_line();
        if (at_end()) malformed("the list has no ']'");
    }

    void parse_flow_list(YamlValue& list, int level) {
        if (level >= kMostListLevels) malformed("lists are nested too deeply");
        list.is_list = true;
        ++at_;
        skip_in_list();
        while (!take("]")) {
            list.items.push_back(parse_value(level + 1));
            skip_in_list();
            if (here() == ']') continue;
            if (!take(",")) malformed("expected ',' or ']'");
            skip_in_list();
        }
    }

    std::string parse_plain(bool in_list) {
        const bool dash = here() == '-' && ends_word(after());
        if (dash || kReserved.find(here()) != std::string_view::npos) {
            malformed("expected a text, a number or a list [...]");
        }
        const std::size_t begin = at_;
        while (!at_end() && !is_break(here())) {
            const char c = here();
            if (c == '#' && is_blank(text_[at_ - 1])) break;
            if (in_list && kFlowMarks.find(c) != std::string_view::npos) break;
            const bool ends_key =
                ends_word(after()) || (in_list && kFlowMarks.find(after()) != std::string_view::npos);
            if (c == ':' && ends_key) malformed("a mapping is not expected here");
            ++at_;
        }
        const std::string text = trimmed(begin);
        at_ = begin + text.size();
        return text;
    }

    std::string trimmed(std::size_t begin) const {
        std::size_t end = at_;
        while (end > begin && is_blank(text_[end - 1])) --end;
        return std::string(text_.substr(begin, end - begin));
    }

    std::string parse_quoted() {
        const char quote = here();
        std::string result;
        ++at_;
        while (true) {
            if (at_end() || is_break(here())) malformed("the quoted text has no end in its line");
            const char c = here();
            ++at_;
            if (c == quote && quote == '\'' && here() == '\'') {
                result += c;
                ++at_;
            } else if (c == quote) {
                return result;
            } else if (c == '\\' && quote == '"') {
                parse_escape(result);
            } else {
                result += c;
            }
        }
    }

    void parse_escape(std::string& result) {
        constexpr std::string_view kNames = "\"\\/ tnr";
        constexpr std::string_view kMeanings = "\"\\/ \t\n\r";
        const char name = here();
        const std::size_t index = kNames.find(name);
        if (index != std::string_view::npos) {
            ++at_;
            result += kMeanings[index];
        } else if (name == 'x' || name == 'u') {
            ++at_;
            std::uint32_t code = parse_hex(name == 'x' ? 2 : 4);
            if (code >= 0xd800 && code <= 0xdbff && take("\\u")) {
                const std::uint32_t low = parse_hex(4);
                if (low < 0xdc00 || low > 0xdfff) malformed("half a surrogate pair");
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            }
            if (code >= 0xd800 && code <= 0xdfff) malformed("half a surrogate pair");
            append_utf8(result, code);
        } else {
            malformed("an unknown escape");
        }
    }

    std::uint32_t parse_hex(int digits) {
        constexpr std::string_view kDigits = "0123456789abcdef0123456789ABCDEF";
        std::uint32_t value = 0;
        for (int i = 0; i < digits; ++i) {
            const std::size_t digit = kDigits.find(here());
            if (digit == std::string_view::npos) malformed("expected a hexadecimal digit");
            value = value << 4 | static_cast<std::uint32_t>(digit % 16);
            ++at_;
        }
        return value;
    }

    std::string_view text_;
    const std::string& path_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::size_t line_begin_ = 0;
};

}  // namespace

YamlMapping parse_yaml(std::string_view text, const std::string& path) {
    return YamlParser(text, path).parse();
}

const YamlValue* find(const YamlMapping& mapping, std::string_view key) {
    const auto found =
        std::find_if(mapping.begin(), mapping.end(), [&](const auto& m) { return m.first == key; });
    return found == mapping.end() ? nullptr : &found->second;
}

std::string to_text(const YamlValue& value) {
    if (!value.is_list) return value.text;
    std::string text;
    for (const YamlValue& item : value.items) {
        text += (text.empty() ? "" : ", ") + (item.is_list ? to_text(item) : "'" + item.text + "'");
    }
    return "[" + text + "]";
}

}  // namespace dse::config
