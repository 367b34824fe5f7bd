// Training runs in Python: records in, figures out; their laws by themselves for tests.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/columns.hpp"
#include "prediction/runs/job.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace dse::prediction::runs {

namespace {

using ClassFields = std::tuple<double, double, std::int64_t, std::optional<double>>;
using CheckpointFields = std::tuple<double, double, std::optional<double>, std::int64_t>;
using SpareFields = std::tuple<std::int64_t, double, std::vector<double>, double>;
using Three = std::array<double, 3>;

std::vector<FailureClass> classes_of_fields(const std::vector<ClassFields>& fields) {
    std::vector<FailureClass> found;
    for (const auto& [rate, recovery_s, nodes, near_s] : fields)
        found.push_back({rate, recovery_s, nodes, near_s});
    return found;
}

std::vector<ClassFields> fields_of(const std::vector<FailureClass>& classes) {
    std::vector<ClassFields> found;
    for (const FailureClass& one : classes)
        found.emplace_back(one.rate, one.recovery_s, one.nodes, one.near_recovery_s);
    return found;
}

Checkpoints checkpoints_of(const CheckpointFields& fields) {
    const auto& [blocking_s, writing_s, flush_s, every] = fields;
    return {blocking_s, writing_s, flush_s, every};
}

CheckpointFields fields_of(const Checkpoints& found) {
    return {found.blocking_s, found.writing_s, found.flush_s, found.every};
}

Three shop_of(const std::vector<ClassFields>& classes, const SpareFields& spares) {
    const auto& [count, repair_s, speeds, reconfigure_s] = spares;
    const Shop shop = repair_shop(classes_of_fields(classes), {count, repair_s, speeds, reconfigure_s});
    return {shop.waiting, shop.reconfiguring, shop.speed};
}

std::array<double, 7> expected_parts(double interval_s, const CheckpointFields& checkpoints,
                                     const std::vector<ClassFields>& classes,
                                     const std::optional<Three>& shop) {
    const Three slowed = shop.value_or(Three{0.0, 0.0, 1.0});
    const Expected found = expected(interval_s, checkpoints_of(checkpoints), classes_of_fields(classes),
                                    {slowed[0], slowed[1], slowed[2]});
    return {found.useful,  found.checkpoints, found.lost,  found.recovery,
            found.waiting, found.failures,    found.shrunk};
}

Three values_of_bounds(const Bounds& bounds) { return {bounds.value, bounds.low, bounds.high}; }

/// Fields of a run, in the order of dse/prediction/runs/native.py.
using RunFields = std::tuple<int, bool, double, double, Three, std::array<double, kParts.size()>, double,
                             double, double, std::array<double, 2>>;

RunFields run_fields(const Job& job, const std::array<double, 5>& step, std::int64_t steps,
                     double step_flops) {
    const RunFigures run = job.run({step[0], step[1], step[2], step[3], step[4]}, {steps, step_flops});
    return {static_cast<int>(run.problem),
            run.shrinks,
            run.interval_s,
            run.shortest_s,
            values_of_bounds(run.time_s),
            run.parts_s,
            run.effective_ratio,
            run.goodput,
            run.failures,
            run.choices_s};
}

using Table = nb::ndarray<nb::numpy, double, nb::ndim<2>>;
using Steps = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Table run_columns(const Job& job, const Steps& table, std::int64_t steps, double step_flops, double price) {
    constexpr std::size_t kWidth = kColumns.size();
    auto* owned = new std::vector<double>();
    const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    without_gil([&] {
        owned->reserve(table.shape(0) * kWidth);
        for (std::size_t row = 0; row < table.shape(0); ++row) {
            const double* step = table.data() + row * 5;
            const Columns found =
                job.columns({step[0], step[1], step[2], step[3], step[4]}, {steps, step_flops}, price);
            owned->insert(owned->end(), found.begin(), found.end());
        }
        return 0;
    });
    return {owned->data(), {owned->size() / kWidth, kWidth}, owner};
}

void bind(nb::module_& m) {
    m.def("run_parts", [] { return std::vector<std::string>(kParts.begin(), kParts.end()); });
    m.def("run_columns", [] { return std::vector<std::string>(kColumns.begin(), kColumns.end()); });
    m.def("checkpoint_bytes", &checkpoint_bytes, "model"_a, "optimizer_bytes"_a);
    m.def(
        "run_energy_mwh",
        [](const std::array<double, kParts.size()>& parts_s, const Three& time_s, double host_w, double pue,
           bool at_limit, double board_power_w, double npus) {
            return values_of_bounds(energy_of(parts_s, {time_s[0], time_s[1], time_s[2]},
                                              {host_w, pue, at_limit}, board_power_w, npus));
        },
        "parts_s"_a, "time_s"_a, "host_w"_a, "pue"_a, "at_limit"_a, "board_power_w"_a, "npus"_a);
    m.def("repair_shop", &shop_of, "classes"_a, "spares"_a);
    m.def("expected_parts", &expected_parts, "interval_s"_a, "checkpoints"_a, "classes"_a,
          "shop"_a = nb::none());
    m.def(
        "best_interval_s",
        [](const CheckpointFields& checkpoints, const std::vector<ClassFields>& classes, double least_s,
           double most_s) {
            return best_interval_s(checkpoints_of(checkpoints), classes_of_fields(classes), least_s, most_s);
        },
        "checkpoints"_a, "classes"_a, "least_s"_a, "most_s"_a);
    nb::class_<Job>(m, "TrainingJob")
        .def(
            "__init__",
            [](Job* self, const std::string& asked, const Cluster& cluster, double bytes, std::int64_t dp,
               const std::optional<std::vector<double>>& speeds) {
                new (self) Job(asked_of_json(asked), cluster, bytes, dp, speeds);
            },
            "asked"_a, "cluster"_a, "checkpoint_bytes"_a, "dp"_a, "speeds"_a = nb::none())
        .def_prop_ro("checkpoints", [](const Job& job) { return fields_of(job.times().checkpoints); })
        .def_prop_ro("load_s", [](const Job& job) { return job.times().load_s; })
        .def_prop_ro("classes", [](const Job& job) { return fields_of(job.classes()); })
        .def_prop_ro("spares", [](const Job& job) { return job.spares(); })
        .def("run", &run_fields, "step"_a, "steps"_a, "step_flops"_a)
        .def("columns", &run_columns, "table"_a, "steps"_a, "step_flops"_a, "price"_a);
}

}  // namespace

}  // namespace dse::prediction::runs

void bind_runs(nb::module_& m) { dse::prediction::runs::bind(m); }
