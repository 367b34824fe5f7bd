// The part of YAML that network files use: a mapping of keys to texts and lists.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dse::config {

/// A text as it stands in the file (quotes removed), or a list.
struct YamlValue {
    bool is_list = false;
    std::string text;
    std::vector<YamlValue> items;
    std::size_t line = 0;
};

/// Keys and values in order of the file.
using YamlMapping = std::vector<std::pair<std::string, YamlValue>>;

/// Parses `key: text`, `key: [a, [b, c]]` (over several lines if need be) and `key:` followed by `- item`
/// lines; texts are plain, 'single' or "double" quoted; `#` begins a comment.
///
/// Throws InputError with path, line and reason for anything else and for a key that occurs twice.
YamlMapping parse_yaml(std::string_view text, const std::string& path);

/// The value of a key, null if there is none.
const YamlValue* find(const YamlMapping& mapping, std::string_view key);

/// The value in one line, for messages: Ring, or ['Ring', 'Switch'].
std::string to_text(const YamlValue& value);

}  // namespace dse::config
