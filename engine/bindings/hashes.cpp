// Hashes of rows for Python: keys of points.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "base/sha256.hpp"
#include "bindings/bindings.hpp"
#include "bindings/columns.hpp"

namespace nb = nanobind;
using namespace nb::literals;

void bind_hashes(nb::module_& m) {
    m.def(
        "hashed_rows",
        [](std::string_view prefix, const std::vector<std::vector<std::string>>& texts,
           const nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>& chosen,
           std::size_t bytes) {
            return to_numpy(without_gil([&] {
                return dse::hashed_rows(prefix, texts, {chosen.data(), chosen.size()}, chosen.shape(0),
                                        bytes);
            }));
        },
        "prefix"_a, "texts"_a, "chosen"_a, "bytes"_a);
}
