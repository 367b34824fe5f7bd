// The rules of an entry of a list of collective algorithms.
#pragma once

#include <string>

namespace dse::config {

/// Returns what is wrong with the name of a collective algorithm and what is allowed; empty if nothing.
std::string algorithm_problem(const std::string& name);

}  // namespace dse::config
