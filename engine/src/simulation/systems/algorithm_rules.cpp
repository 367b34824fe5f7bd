// The names, and which of them take a window.
#include "simulation/systems/algorithm_rules.hpp"

#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "inputs/files/text.hpp"
#include "simulation/algorithms/registry.hpp"

namespace dse::config {

std::string algorithm_problem(const std::string& name) {
    try {
        collectives::algorithm_named(name);
        return {};
    } catch (const InputError&) {
        const std::vector<std::string> names = collectives::algorithm_names();
        const std::vector<std::string_view> known(names.begin(), names.end());
        return "is '" + excerpt(name) + "'; allowed are " + join(known) + ", " + collectives::window_rule() +
               did_you_mean(name, known);
    }
}

}  // namespace dse::config
