// Checks and their messages.
#include "inputs/files/rules.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "inputs/files/text.hpp"

namespace dse::config {

void Place::fail(const std::string& problem) const { throw InputError(path + ": " + key + " " + problem); }

std::uint32_t integer_in_range(const Place& place, double value, const std::string& shown, std::int64_t least,
                               std::int64_t most) {
    if (!(value >= static_cast<double>(least) && value <= static_cast<double>(most))) {
        place.fail("is " + excerpt(shown) + "; it must be an integer from " + std::to_string(least) + " to " +
                   std::to_string(most));
    }
    return static_cast<std::uint32_t>(value);
}

double number_in_range(const Place& place, double value, const std::string& shown, bool zero_allowed,
                       bool is_speed) {
    if (!std::isfinite(value) || value < 0 || (value == 0 && !zero_allowed) ||
        (is_speed && value > kMaxSpeed)) {
        const char* const bound = zero_allowed ? "0 or greater" : "greater than 0";
        place.fail("is " + excerpt(shown) + "; it must be a number " + bound +
                   (is_speed ? ", and at most 1e+30" : ""));
    }
    return value;
}

std::string no_choice(std::string_view value, std::span<const std::string_view> allowed) {
    return "is '" + excerpt(value) + "'; allowed are " + join(allowed) + did_you_mean(value, allowed);
}

void require_choice(const Place& place, std::string_view value, std::span<const std::string_view> allowed) {
    if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
    place.fail(no_choice(value, allowed));
}

void require_known_key(const std::string& path, std::string_view key,
                       std::span<const std::string_view> known) {
    if (std::find(known.begin(), known.end(), key) != known.end()) return;
    const std::string hint = did_you_mean(key, known);
    throw InputError(path + ": unknown key " + excerpt(key) +
                     (hint.empty() ? "; known keys are " + join(known) : hint));
}

}  // namespace dse::config
