// The Python module dse._engine: errors, traces, simulation, networks.
#include <nanobind/nanobind.h>

#include "bindings/bindings.hpp"
#include "core/error.hpp"

namespace nb = nanobind;

namespace {

void raise_as(const char* type, const char* message) {
    const nb::object exception = nb::module_::import_("dse.errors").attr(type);
    PyErr_SetString(exception.ptr(), message);
}

void translate(const std::exception_ptr& error, void* /*unused*/) {
    try {
        std::rethrow_exception(error);
    } catch (const dse::InputError& e) {
        raise_as("InputError", e.what());
    } catch (const dse::SimulationError& e) {
        raise_as("SimulationError", e.what());
    }
}

}  // namespace

NB_MODULE(_engine, m) {
    m.doc() = "The native core: workload generation, execution traces and simulation.";
    nb::register_exception_translator(translate, nullptr);
    bind_traces(m);
    bind_simulation(m);
    bind_network(m);
}
