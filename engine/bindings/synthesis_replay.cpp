// Replays of schedules, for Python.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "bindings/bindings.hpp"
#include "bindings/columns.hpp"
#include "collectives/schedules/replay.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace dse::synthesis;

namespace {

using Table = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// Shapes (links or sends, draws); the constructor of dse.collectives.search.replay.Replay checks them.
Durations durations_of(const Table& arrival, const std::optional<Table>& held, bool per_send) {
    Durations durations;
    durations.arrival = {arrival.data(), arrival.size()};
    if (held) durations.held = {held->data(), held->size()};
    durations.draws = arrival.shape(1);
    durations.per_send = per_send;
    return durations;
}

using ReplayColumn = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;

ReplayColumn times(const Replay& replay, const Table& arrival, const std::optional<Table>& held,
                   bool per_send) {
    std::vector<std::int64_t> result;
    {
        const nb::gil_scoped_release release;
        result = replay.times(durations_of(arrival, held, per_send));
    }
    return to_numpy(std::move(result));
}

std::tuple<ReplayColumn, ReplayColumn, ReplayColumn, ReplayColumn, ReplayColumn> critical(
    const Replay& replay, const Table& arrival, const std::optional<Table>& held, bool per_send) {
    Criticality links;
    std::vector<std::int64_t> result;
    {
        const nb::gil_scoped_release release;
        result = replay.times(durations_of(arrival, held, per_send), links);
    }
    return {to_numpy(std::move(result)), to_numpy(std::move(links.draws)),
            to_numpy(std::move(links.arrivals)), to_numpy(std::move(links.waits)),
            to_numpy(std::move(links.path_ps))};
}

}  // namespace

void bind_synthesis_replay(nb::module_& m) {
    using Ends = std::pair<Column<std::int32_t>, Column<std::int32_t>>;
    using Times = std::pair<Column<std::int64_t>, Column<std::int64_t>>;
    nb::class_<Replay>(m, "CollectiveReplay")
        .def(
            "__init__",
            [](Replay* self, std::size_t links, std::int64_t chunks, const Ends& ends, const Ends& what,
               const Times& when, const Column<std::int64_t>& holdings, bool sums) {
                new (self) Replay(links, chunks,
                                  {values_of(ends.first), values_of(ends.second), values_of(what.first),
                                   values_of(what.second), values_of(when.first), values_of(when.second)},
                                  values_of(holdings), sums);
            },
            "links"_a, "chunks"_a, "ends"_a, "link_and_chunk"_a, "start_and_end_ps"_a, "holdings"_a, "sums"_a)
        .def("times_ps", &times, "arrival_ps"_a, "held_ps"_a.none(), "per_send"_a)
        .def("critical", &critical, "arrival_ps"_a, "held_ps"_a.none(), "per_send"_a)
        .def(
            "starts_ps",
            [](const Replay& self, const Table& arrival, const std::optional<Table>& held, bool per_send) {
                return to_numpy(self.starts(durations_of(arrival, held, per_send)));
            },
            "arrival_ps"_a, "held_ps"_a.none(), "per_send"_a);
}
