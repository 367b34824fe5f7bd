// Polls the signals of Python, and the class Cancellation in Python.
#include "bindings/checkpoints.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace dse {

namespace {

/// Python runs its handlers of signals in this thread only.
bool is_main_thread() {
    const nb::module_ threading = nb::module_::import_("threading");
    return threading.attr("current_thread")().is(threading.attr("main_thread")());
}

void poll_signals() {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

Checkpoint checkpoint_of(const Cancellation* cancellation) {
    std::optional<Cancellation> copy;
    if (cancellation != nullptr) copy = *cancellation;
    if (!is_main_thread()) return Checkpoint(std::move(copy));
    return Checkpoint(std::move(copy), poll_signals);
}

}  // namespace dse

void bind_cancellation(nb::module_& m) {
    using dse::Cancellation;
    nb::class_<Cancellation>(m, "Cancellation")
        .def(nb::init<>())
        .def("limited_to", &Cancellation::limited_to, "seconds"_a, "reason"_a)
        .def("cancel", &Cancellation::cancel)
        .def_prop_ro("is_cancelled", &Cancellation::is_cancelled);
}
