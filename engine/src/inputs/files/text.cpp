// Reading whole files, checking UTF-8, converting numbers, and the nearest known word.
#include "inputs/files/text.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "base/file.hpp"

namespace dse::config {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28;  // of a configuration file or a graph

/// Length of the UTF-8 sequence at the begin of `text`, 0 if there is none.
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    // No overlong forms, no surrogates, nothing above U+10FFFF.
    if (lead == 0xe0 && byte(1) < 0xa0) return 0;
    if (lead == 0xed && byte(1) > 0x9f) return 0;
    if (lead == 0xf0 && byte(1) < 0x90) return 0;
    if (lead == 0xf4 && byte(1) > 0x8f) return 0;
    return length;
}

/// Number of characters that two words share in order: the longest common run, then the same on both sides.
std::size_t shared_characters(std::string_view a, std::string_view b) {
    std::size_t best = 0, best_a = 0, best_b = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < b.size(); ++j) {
            std::size_t run = 0;
            while (i + run < a.size() && j + run < b.size() && a[i + run] == b[j + run]) ++run;
            if (run > best) {
                best = run;
                best_a = i;
                best_b = j;
            }
        }
    }
    if (best == 0) return 0;
    return best + shared_characters(a.substr(0, best_a), b.substr(0, best_b)) +
           shared_characters(a.substr(best_a + best), b.substr(best_b + best));
}

}  // namespace

std::string read_text_file(const std::string& path) {
    const InputFile file(path, kMostBytes);
    std::string text(file.size(), '\0');
    text.resize(file.read(text.data(), {}));
    require_utf8(text, path);
    if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // the mark that some editors begin a file with
    return text;
}

void require_utf8(std::string_view text, const std::string& path) {
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = sequence_length(text.substr(i));
        if (length == 0) throw InputError(path + ": is not UTF-8 text (byte " + std::to_string(i) + ")");
        i += length;
    }
}

void append_utf8(std::string& text, std::uint32_t code_point) {
    const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
    if (code_point < 0x80) {
        add(code_point);
        return;
    }
    if (code_point < 0x800) {
        add(0xc0 | code_point >> 6);
    } else {
        if (code_point < 0x10000) {
            add(0xe0 | code_point >> 12);
        } else {
            add(0xf0 | code_point >> 18);
            add(0x80 | (code_point >> 12 & 0x3f));
        }
        add(0x80 | (code_point >> 6 & 0x3f));
    }
    add(0x80 | (code_point & 0x3f));
}

std::optional<double> number_of(std::string_view text) {
    std::size_t i = 0;
    const auto digits = [&] {
        const std::size_t begin = i;
        while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
        return i - begin;
    };
    const auto skip_sign = [&] {
        if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    };
    skip_sign();
    std::size_t count = digits();
    if (i < text.size() && text[i] == '.') {
        ++i;
        count += digits();
    }
    if (count == 0) return std::nullopt;
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
        ++i;
        skip_sign();
        if (digits() == 0) return std::nullopt;
    }
    if (i != text.size()) return std::nullopt;
    return std::strtod(std::string(text).c_str(), nullptr);  // too large: infinity, too small: 0
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
    constexpr double kNear = 0.6;
    constexpr std::size_t kLongestWord = 64;
    if (word.size() > kLongestWord) return "";
    std::string_view nearest;
    double highest = 0.0;
    for (const std::string_view candidate : known) {
        const double shared = static_cast<double>(shared_characters(candidate, word));
        const double score = 2 * shared / static_cast<double>(candidate.size() + word.size());
        if (score > highest || (score == highest && candidate > nearest)) {
            highest = score;
            nearest = candidate;
        }
    }
    return highest >= kNear ? "; did you mean '" + std::string(nearest) + "'?" : "";
}

std::string excerpt(std::string_view text) {
    constexpr std::size_t kMost = 60;
    std::size_t length = std::min(text.size(), kMost);
    while (length > 0 && length < text.size() && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80)
        --length;
    std::string line(text.substr(0, length));
    for (char& c : line) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    }
    return length < text.size() ? line + "…" : line;
}

std::string join(std::span<const std::string_view> words, std::string_view separator) {
    std::string text;
    for (const std::string_view word : words) {
        if (!text.empty()) text += separator;
        text += word;
    }
    return text;
}

}  // namespace dse::config
