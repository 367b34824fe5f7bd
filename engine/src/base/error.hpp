// The exceptions that leave the engine; the bindings turn them into those of dse/base/errors.py.
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

/// An event falls on the end of simulated time or later.
class EndOfTimeError : public SimulationError {
public:
    using SimulationError::SimulationError;
};

/// Another thread has ended the call.
class Cancelled : public std::runtime_error {
public:
    Cancelled() : std::runtime_error("cancelled") {}
};

/// The call has taken longer than it may.
class DeadlinePassed : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace dse
