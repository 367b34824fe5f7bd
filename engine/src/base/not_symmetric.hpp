// Why ranks cannot be simulated class by class.
#pragma once

#include <stdexcept>
#include <string>

namespace dse {

/// The members of a class or a collective do not keep step; the message says why. Leaves the simulator only
/// where symmetry is assumed without proof.
class NotSymmetric : public std::runtime_error {
public:
    explicit NotSymmetric(const std::string& reason) : std::runtime_error(reason) {}
};

}  // namespace dse
