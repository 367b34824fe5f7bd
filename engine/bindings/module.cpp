// The Python module dse._engine: errors, traces, costs, simulation, networks, files, synthesis, planning,
// partition, the explorer.
#include <nanobind/nanobind.h>

#include <new>
#include <stdexcept>

#include "bindings/bindings.hpp"
#include "core/error.hpp"
#include "core/result_version.hpp"

namespace nb = nanobind;

namespace {

constexpr const char* kNoMemory =
    "needs more memory than this machine has; use fewer layers, micro-batches, NPUs or chunks";

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

NB_MODULE(_engine, m) {
    m.doc() = "The native core: workload generation, execution traces and simulation.";
    m.attr("RESULT_VERSION") = dse::kResultVersion;
    nb::register_exception_translator(translate, nullptr);
    bind_cancellation(m);
    bind_traces(m);
    bind_costs(m);
    bind_simulation(m);
    bind_network(m);
    bind_files(m);
    bind_synthesis(m);
    bind_synthesis_replay(m);
    bind_synthesis_search(m);
    bind_synthesis_fixed(m);
    bind_synthesis_bounds(m);
    bind_planner(m);
    bind_planner_exact(m);
    bind_planner_walk(m);
    bind_partition(m);
    bind_explorer(m);
}
