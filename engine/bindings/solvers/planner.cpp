// Planning problems for Python.
#include "bindings/solvers/planner.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/solvers/solvers.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Doubles = Column<double>;
using Indices = Column<std::int32_t>;

std::vector<double> vector_of(const Doubles& column) {
    return {column.data(), column.data() + column.size()};
}

/// All numbers have been checked in Python; the columns of hosts, and those of profiles, are equally long.
void set_hosts(PlanningProblem& problem, const Indices& type, const Indices& gpus, const Doubles& intra_gbps,
               const Doubles& inter_gbps, const Indices& island) {
    problem.hosts.clear();
    for (std::size_t i = 0; i < type.size(); ++i)
        problem.hosts.push_back({static_cast<std::uint32_t>(type(i)), static_cast<std::uint32_t>(gpus(i)),
                                 intra_gbps(i), inter_gbps(i), static_cast<std::uint32_t>(island(i))});
}

/// `type`, `log2_tp` and `batch` say what entry e is for; layers are [entry][layer].
void set_profiles(PlanningProblem& problem, std::uint32_t layers, const Indices& type, const Indices& log2_tp,
                  const Indices& batch, const Doubles& layer_ms, const Doubles& layer_memory_mb,
                  const Doubles& gap_ms, const Doubles& optimizer_ms, const Doubles& batch_generator_ms) {
    dse::planner::Profiles profiles;
    profiles.layers = layers;
    std::int32_t most = 0;
    for (std::size_t i = 0; i < type.size(); ++i) {
        profiles.degrees = std::max(profiles.degrees, static_cast<std::uint32_t>(log2_tp(i)) + 1);
        most = std::max(most, batch(i));
    }
    profiles.row_of_batch.assign(static_cast<std::size_t>(most) + 1, dse::planner::kMissing);
    for (std::size_t i = 0; i < batch.size(); ++i) {
        std::int32_t& row = profiles.row_of_batch[static_cast<std::size_t>(batch(i))];
        if (row == dse::planner::kMissing) row = static_cast<std::int32_t>(profiles.batches++);
    }
    profiles.entry_of.assign(problem.types.size() * profiles.degrees * profiles.batches,
                             dse::planner::kMissing);
    for (std::size_t i = 0; i < type.size(); ++i) {
        const auto row = static_cast<std::size_t>(profiles.row_of_batch[static_cast<std::size_t>(batch(i))]);
        const auto degree =
            static_cast<std::size_t>(type(i)) * profiles.degrees + static_cast<std::size_t>(log2_tp(i));
        profiles.entry_of[degree * profiles.batches + row] = static_cast<std::int32_t>(i);
        profiles.times.push_back({0, gap_ms(i), optimizer_ms(i), batch_generator_ms(i)});
    }
    profiles.layer_ms = vector_of(layer_ms);
    profiles.layer_memory_mb = vector_of(layer_memory_mb);
    profiles.add_up();
    problem.profiles = std::move(profiles);
}

void set_model(PlanningProblem& problem, const Doubles& weights, const Doubles& parameters_bytes,
               double optimizer_ms, double batch_generator_ms, std::uint64_t gbs, std::uint64_t hidden,
               std::uint64_t sequence, std::uint64_t vocabulary) {
    problem.model = {vector_of(weights),
                     vector_of(parameters_bytes),
                     optimizer_ms,
                     batch_generator_ms,
                     gbs,
                     hidden,
                     sequence,
                     vocabulary};
}

void set_options(PlanningProblem& problem, std::uint64_t max_tp, std::uint64_t max_batch,
                 std::uint64_t group_scale, std::uint64_t permutation_limit, bool allow_mixed_stages,
                 bool memory_has_states, bool shard_optimizer, double memory_reserve,
                 std::uint64_t bytes_per_element) {
    problem.options = {max_tp,
                       max_batch,
                       group_scale,
                       permutation_limit,
                       allow_mixed_stages,
                       memory_has_states,
                       shard_optimizer,
                       memory_reserve,
                       bytes_per_element};
}

}  // namespace

void bind_planner(nb::module_& m) {
    nb::class_<PlanningProblem>(m, "PlanningProblem")
        .def(
            "__init__",
            [](PlanningProblem* self, std::vector<std::string> types, const Doubles& memory_mb,
               double between_islands_gbps) {
                auto* problem = new (self) PlanningProblem();
                problem->types = std::move(types);
                problem->memory_mb = vector_of(memory_mb);
                problem->between_islands_gbps = between_islands_gbps;
            },
            "types"_a, "memory_mb"_a, "between_islands_gbps"_a)
        .def("set_hosts", &set_hosts, "type"_a, "gpus"_a, "intra_gbps"_a, "inter_gbps"_a, "island"_a)
        .def("set_profiles", &set_profiles, "layers"_a, "type"_a, "log2_tp"_a, "batch"_a, "layer_ms"_a,
             "layer_memory_mb"_a, "gap_ms"_a, "optimizer_ms"_a, "batch_generator_ms"_a)
        .def("set_model", &set_model, "weights"_a, "parameters_bytes"_a, "optimizer_ms"_a,
             "batch_generator_ms"_a, "gbs"_a, "hidden"_a, "sequence"_a, "vocabulary"_a)
        .def("set_options", &set_options, "max_tp"_a, "max_batch"_a, "group_scale"_a, "permutation_limit"_a,
             "allow_mixed_stages"_a, "memory_has_states"_a, "shard_optimizer"_a, "memory_reserve"_a,
             "bytes_per_element"_a)
        .def_prop_ro("gpus", &PlanningProblem::gpus)
        .def_prop_ro("layers", &PlanningProblem::layers);
}
