// The engine's errors as those of dse.base.errors.
#include <nanobind/nanobind.h>

#include <new>
#include <stdexcept>

#include "base/error.hpp"
#include "bindings/bindings.hpp"

namespace nb = nanobind;

namespace {

constexpr const char* kNoMemory =
    "needs more memory than this machine has; use fewer layers, micro-batches, NPUs or chunks";

void raise_as(const char* type, const char* message) {
    const nb::object exception = nb::module_::import_("dse.base.errors").attr(type);
    PyErr_SetString(exception.ptr(), message);
}

void translate(const std::exception_ptr& error, void* /*unused*/) {
    try {
        std::rethrow_exception(error);
    } catch (const dse::InputError& e) {
        raise_as("InputError", e.what());
    } catch (const dse::SimulationError& e) {
        raise_as("SimulationError", e.what());
    } catch (const dse::Cancelled& e) {
        raise_as("Cancelled", e.what());
    } catch (const dse::DeadlinePassed& e) {
        raise_as("SimulationTimeout", e.what());
    } catch (const std::bad_alloc&) {
        raise_as("SimulationError", kNoMemory);
    } catch (const std::length_error&) {
        raise_as("SimulationError", kNoMemory);
    }
}

}  // namespace

void bind_errors() { nb::register_exception_translator(translate, nullptr); }
