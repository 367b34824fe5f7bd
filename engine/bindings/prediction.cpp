// Predictions of training steps in Python: records in, columns out.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/columns.hpp"
#include "bindings/planned_step.hpp"
#include "prediction/batch.hpp"
#include "prediction/pipeline/builtin_schedules.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace dse::prediction {

namespace {

/// Calls a method of `source`, which may be called from any thread.
template <typename Result, typename... Arguments>
Result ask(const nb::object& source, const char* method, const Arguments&... arguments) {
    const nb::gil_scoped_acquire acquire;
    return nb::cast<Result>(source.attr(method)(arguments...));
}

Timetable timetable_of(const nb::object& source, const Schedule& schedule, std::int64_t stages,
                       std::int64_t chunks, std::int64_t micro_batches) {
    const nb::gil_scoped_acquire acquire;
    const auto found =
        nb::cast<nb::tuple>(source.attr("timetable")(schedule.name, stages, chunks, micro_batches));
    Timetable timetable;
    for (const nb::handle kind : nb::cast<nb::list>(found[0])) {
        const auto ticks = nb::cast<Column<std::int64_t>>(kind);
        timetable.ticks.emplace_back(ticks.data(), ticks.data() + ticks.size());
    }
    for (const auto& one : nb::cast<std::vector<std::vector<std::int64_t>>>(found[1])) {
        timetable.messages.push_back({one.at(0), one.at(1), one.at(2), one.at(3), one.at(4), one.at(5)});
    }
    return timetable;
}

BatchSource source_of(const nb::object& source) {
    BatchSource found;
    found.schedules.problem = [source](const Schedule& schedule, std::int64_t stages, std::int64_t chunks,
                                       std::int64_t micro_batches) {
        return ask<std::string>(source, "problem", schedule.name, stages, chunks, micro_batches);
    };
    found.schedules.timetable = [source](const Schedule& schedule, std::int64_t stages, std::int64_t chunks,
                                         std::int64_t micro_batches) {
        return timetable_of(source, schedule, stages, chunks, micro_batches);
    };
    found.schedule = [source](const std::string& name) {
        const auto [splits, is_v_shaped] = ask<std::pair<bool, bool>>(source, "schedule", name);
        return Schedule{name, splits, is_v_shaped};
    };
    found.framework = [source](const std::string& name) {
        return ask<std::string>(source, "framework", name);
    };
    found.synthesizer = [source](const std::vector<Leg>& legs) {
        std::vector<std::tuple<std::int64_t, double, double>> asked;
        for (const Leg& leg : legs) asked.emplace_back(leg.size, leg.bandwidth, leg.latency_s);
        using Lines = std::vector<std::pair<double, double>>;
        std::vector<ScheduleTimes> times;
        for (auto& [chunks, lines] :
             ask<std::vector<std::pair<double, Lines>>>(source, "synthesized", asked)) {
            times.push_back({chunks, std::move(lines)});
        }
        return times;
    };
    return found;
}

using Ticks = std::vector<nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>>;
using Rows = std::vector<std::vector<std::int64_t>>;

/// Why a schedule of the engine cannot run so many; if it can, its ticks and messages.
std::tuple<std::string, Ticks, Rows> timetable_named(const std::string& name, std::int64_t stages,
                                                     std::int64_t chunks, std::int64_t micro_batches) {
    const BuiltinSchedule* found = builtin_schedule(name);
    if (found == nullptr) throw nb::key_error(name.c_str());
    const std::string problem = found->problem(stages, chunks, micro_batches);
    if (!problem.empty()) return {problem, {}, {}};
    Timetable made = found->timetable(stages, chunks, micro_batches);
    Ticks ticks;
    for (auto& kind : made.ticks) ticks.push_back(to_numpy(std::move(kind)));
    Rows messages;
    for (const Message& one : made.messages)
        messages.push_back({one.kind, one.stage, one.chunk, one.to_stage, one.to_chunk, one.link});
    return {problem, std::move(ticks), std::move(messages)};
}

nb::ndarray<nb::numpy, double, nb::ndim<2>> table(std::vector<double> values, std::size_t columns) {
    auto* owned = new std::vector<double>(std::move(values));
    const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    return {owned->data(), {owned->size() / columns, columns}, owner};
}

using Table = nb::ndarray<nb::numpy, double, nb::ndim<2>>;
using Figures = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using Numbers = nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>;
/// Parts, memory, share of the bubble, number of the reason, reasons.
using Found = std::tuple<Table, Table, Figures, Numbers, std::vector<std::string>>;
using Plans = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Own = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Found predict_columns(Predictor& predictor, const std::vector<std::shared_ptr<Model>>& models,
                      const std::vector<std::shared_ptr<Cluster>>& clusters,
                      const Column<std::int32_t>& model_of, const Column<std::int32_t>& cluster_of,
                      const Plans& plans, const Own& own, std::vector<std::string> texts, std::size_t threads,
                      bool only_feasible) {
    std::vector<const Model*> of_models;
    std::vector<const Cluster*> of_clusters;
    for (const auto& model : models) of_models.push_back(model.get());
    for (const auto& cluster : clusters) of_clusters.push_back(cluster.get());
    const Cases cases{of_models,
                      of_clusters,
                      {model_of.data(), model_of.size()},
                      {cluster_of.data(), cluster_of.size()},
                      {plans.data(), plans.size()},
                      {own.data(), own.size()},
                      std::move(texts)};
    Predictions found = without_gil([&] { return predictor.predict(cases, threads, only_feasible); });
    return Found(table(std::move(found.parts_s), kStepParts),
                 table(std::move(found.memory_bytes), kCategories), to_numpy(std::move(found.bubble_share)),
                 to_numpy(std::move(found.reason_of)), std::move(found.reasons));
}

void bind(nb::module_& m) {
    m.def("plan_columns", [] { return std::vector<std::string>(kPlanColumns.begin(), kPlanColumns.end()); });
    m.attr("PLAN_NUMBERS") = kFirstText;
    m.def("builtin_timetable", &timetable_named, "name"_a, "stages"_a, "chunks"_a, "micro_batches"_a);
    nb::class_<Model>(m, "StepModel");
    nb::class_<Cluster>(m, "StepCluster");
    m.def(
        "step_model", [](const std::string& text) { return std::make_shared<Model>(model_of_json(text)); },
        "json"_a);
    m.def(
        "step_cluster",
        [](const std::string& text) { return std::make_shared<Cluster>(cluster_of_json(text)); }, "json"_a);
    nb::class_<Predictor> predictor(m, "StepPredictor");
    predictor
        .def(
            "__init__",
            [](Predictor* self,
               const std::vector<std::tuple<std::string, std::string, std::int64_t>>& precisions,
               const nb::object& source) {
                std::vector<Precision> found;
                for (const auto& [name, format, bits] : precisions) found.push_back({name, format, bits});
                new (self) Predictor(std::move(found), source_of(source));
            },
            "precisions"_a, "source"_a)
        .def("predict", &predict_columns, "models"_a, "clusters"_a, "model_of"_a, "cluster_of"_a, "plans"_a,
             "own"_a, "texts"_a, "threads"_a, "only_feasible"_a = false);
    bind_pieces(m, predictor);
}

}  // namespace

}  // namespace dse::prediction

void bind_prediction(nb::module_& m) { dse::prediction::bind(m); }
