// The table of algorithms: a line each, here and nowhere else.
#include "simulation/algorithms/registry.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/error.hpp"

namespace dse::collectives {

const Algorithm& ring();
const Algorithm& direct();
const Algorithm& halving_doubling();
const Algorithm& double_binary_tree();
const Algorithm& synthesized();

std::span<const Algorithm* const> algorithms() {
    static const std::array all = {&ring(), &direct(), &halving_doubling(), &double_binary_tree(),
                                   &synthesized()};
    return all;
}

namespace {

constexpr std::size_t kMostDigits = 5;

/// `ring` over all ranks is `oneRing`.
std::string name_over_all_ranks(const Algorithm& algorithm) {
    std::string name(algorithm.name());
    name.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(name.front())));
    return "one" + name;
}

/// The window that stands after a name: 0 if there is none, nothing if it is no window.
std::optional<std::uint32_t> window_of(std::string_view digits) {
    if (digits.empty()) return 0;
    std::uint32_t window = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), window);
    const bool whole = error == std::errc() && end == digits.data() + digits.size();
    if (!whole || digits.size() > kMostDigits || digits.front() == '0') return std::nullopt;
    return window;
}

std::optional<Choice> choice_of(const Algorithm& algorithm, std::string_view known, std::string_view name) {
    if (!name.starts_with(known)) return std::nullopt;
    const std::string_view rest = name.substr(known.size());
    if (!rest.empty() && !algorithm.takes_window()) return std::nullopt;
    const std::optional<std::uint32_t> window = window_of(rest);
    if (!window) return std::nullopt;
    return Choice{&algorithm, *window, false};
}

}  // namespace

std::vector<std::string> algorithm_names() {
    std::vector<std::string> names;
    for (const Algorithm* const algorithm : algorithms()) names.emplace_back(algorithm->name());
    for (const Algorithm* const algorithm : algorithms()) {
        if (algorithm->has_form_over_all_ranks()) names.push_back(name_over_all_ranks(*algorithm));
    }
    return names;
}

std::string window_rule() {
    std::string forms;
    for (const Algorithm* const algorithm : algorithms()) {
        if (!algorithm->takes_window()) continue;
        forms += (forms.empty() ? "" : " or ") + std::string(algorithm->name()) + "N";
        if (algorithm->has_form_over_all_ranks()) forms += " or " + name_over_all_ranks(*algorithm) + "N";
    }
    return forms + " with a window N of 1 to 5 digits";
}

Choice algorithm_named(std::string_view name) {
    for (const Algorithm* const algorithm : algorithms()) {
        if (const auto choice = choice_of(*algorithm, algorithm->name(), name)) return *choice;
        if (!algorithm->has_form_over_all_ranks()) continue;
        if (auto choice = choice_of(*algorithm, name_over_all_ranks(*algorithm), name)) {
            choice->over_all_ranks = true;
            return *choice;
        }
    }
    std::string allowed;
    for (const std::string& known : algorithm_names()) allowed += known + ", ";
    throw InputError("collective algorithm '" + std::string(name) + "' is unknown; allowed are " + allowed +
                     window_rule());
}

}  // namespace dse::collectives
