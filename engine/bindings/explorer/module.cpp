// The Python module dse.native._explorer: rows and recordings as the engine in a page finds them, for tests.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "answers/explorer/rows.hpp"
#include "bindings/bindings.hpp"
#include "bindings/checkpoints.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace dse;

namespace {

using PythonRow = std::pair<std::vector<double>, std::vector<std::string>>;  // figures, texts

std::vector<PythonRow> explorer_rows(const std::string& request) {
    const Checkpoint checkpoint = checkpoint_of(nullptr);
    const nb::gil_scoped_release release;
    const explorer::Explorer explorer(request);
    std::vector<PythonRow> rows;
    for (std::size_t i = 0; i < explorer.size(); ++i) {
        explorer::Row row = explorer.row(i, checkpoint);
        rows.emplace_back(std::vector<double>(row.figures.begin(), row.figures.end()),
                          std::vector{std::move(row.reason), std::move(row.understated_comm),
                                      std::move(row.impossible_split)});
    }
    return rows;
}

std::string explorer_recording(const std::string& request, std::size_t index) {
    const Checkpoint checkpoint = checkpoint_of(nullptr);
    const nb::gil_scoped_release release;
    const explorer::Explorer explorer(request);
    if (index >= explorer.size()) throw nb::index_error("there is no strategy of this index");
    std::string json;
    explorer.record(index, json, checkpoint);
    return json;
}

}  // namespace

NB_MODULE(_explorer, m) {
    m.doc() = "The engine of pages, natively, to be compared with the package.";
    nb::module_::import_("dse.native._engine");  // has Cancellation
    bind_errors();
    m.def("explorer_rows", &explorer_rows, "request"_a);
    m.def("explorer_recording", &explorer_recording, "request"_a, "index"_a);
}
