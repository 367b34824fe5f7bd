// The two exceptions that leave the engine; the bindings turn them into the user errors of dse/errors.py.
#pragma once

#include <stdexcept>
#include <string>

namespace dse {

/// A file or value given by the user is wrong; the message names it, what was got and what is allowed.
class InputError : public std::runtime_error {
public:
    explicit InputError(const std::string& message) : std::runtime_error(message) {}
};

/// A workload asks for something that cannot be simulated, such as a collective without an algorithm.
class SimulationError : public std::runtime_error {
public:
    explicit SimulationError(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace dse
