// Text files, numbers and misspelt words: what the readers of configuration files share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dse::config {

/// The content of a regular file of at most 256 MiB, without a byte order mark. Throws InputError if it is
/// none, cannot be read or is not UTF-8.
std::string read_text_file(const std::string& path);

/// Throws InputError with the offset of the first byte that is not UTF-8; `path` is for the message.
void require_utf8(std::string_view text, const std::string& path);

/// The UTF-8 form of a code point below 0x110000.
void append_utf8(std::string& text, std::uint32_t code_point);

/// The number that the whole text is: digits, a point, an exponent; no blanks, no hex, no infinity by name.
std::optional<double> number_of(std::string_view text);

/// "; did you mean 'nearest'?", or an empty text if nothing among `known` comes near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

/// The beginning of a text that a file holds, for a message of one line.
std::string excerpt(std::string_view text);

/// The words with `separator` between them.
std::string join(std::span<const std::string_view> words, std::string_view separator = ", ");

}  // namespace dse::config
