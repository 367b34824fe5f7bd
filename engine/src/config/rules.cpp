// Checks and their messages.
#include "config/rules.hpp"

#include <algorithm>
#include <cmath>

#include "config/text.hpp"
#include "core/error.hpp"

namespace dse::config {

void Place::fail(const std::string& problem) const { throw InputError(path + ": " + key + " " + problem); }

std::uint32_t integer_in_range(const Place& place, double value, const std::string& shown,
                               std::int64_t least) {
    if (!(value >= static_cast<double>(least) && value <= static_cast<double>(kMaxInteger))) {
        place.fail("is " + shown + "; it must be an integer from " + std::to_string(least) + " to " +
                   std::to_string(kMaxInteger));
    }
    return static_cast<std::uint32_t>(value);
}

double number_in_range(const Place& place, double value, const std::string& shown, bool zero_allowed) {
    if (!std::isfinite(value) || value < 0 || (value == 0 && !zero_allowed)) {
        const char* const bound = zero_allowed ? "0 or greater" : "greater than 0";
        place.fail("is " + shown + "; it must be a number " + bound);
    }
    return value;
}

void require_choice(const Place& place, std::string_view value, std::span<const std::string_view> allowed) {
    if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
    place.fail("is '" + std::string(value) + "'; allowed are " + join(allowed) +
               did_you_mean(value, allowed));
}

void require_known_key(const std::string& path, std::string_view key,
                       std::span<const std::string_view> known) {
    if (std::find(known.begin(), known.end(), key) != known.end()) return;
    const std::string hint = did_you_mean(key, known);
    throw InputError(path + ": unknown key " + std::string(key) +
                     (hint.empty() ? "; known keys are " + join(known) : hint));
}

}  // namespace dse::config
