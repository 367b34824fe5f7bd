// Algorithms by name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/algorithms/algorithm.hpp"

namespace dse::collectives {

/// All algorithms, in the order in which messages list them.
std::span<const Algorithm* const> algorithms();

/// Their names in system.json, then those with the prefix `one`; a window may follow some of them.
std::vector<std::string> algorithm_names();

/// The end of a message that lists names: which of them take a window.
std::string window_rule();

/// An entry of an implementation list. Throws InputError with the allowed names.
Choice algorithm_named(std::string_view name);

}  // namespace dse::collectives
