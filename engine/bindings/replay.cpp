// Replays of recorded steps, for Python.
#include "simulation/replay/replay.hpp"

#include "bindings/bindings.hpp"
#include "bindings/columns.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using dse::recorded::StepTimes;

namespace {

StepTimes replay_recorded(const Column<std::int32_t>& lane, const Column<std::int64_t>& duration_ns,
                          const Column<std::int64_t>& gap_ns, const Column<std::int64_t>& before_first,
                          const Column<std::int64_t>& before, const Column<std::int32_t>& communication,
                          const Column<bool>& waits, std::size_t lanes, std::size_t communications) {
    return without_gil([&] {
        return dse::recorded::replayed({values_of(lane), values_of(duration_ns), values_of(gap_ns),
                                        values_of(before_first), values_of(before), values_of(communication),
                                        values_of(waits), lanes, communications});
    });
}

/// A column of `owner`, which lives as long as the array does.
template <std::vector<std::int64_t> StepTimes::* member>
nb::ndarray<nb::numpy, const std::int64_t, nb::ndim<1>> column_of(nb::handle_t<StepTimes> owner) {
    const std::vector<std::int64_t>& values = nb::cast<const StepTimes&>(owner).*member;
    return {values.data(), {values.size()}, owner};
}

}  // namespace

void bind_replay(nb::module_& m) {
    nb::class_<StepTimes>(m, "RecordedTimes")
        .def_prop_ro("start_ns", &column_of<&StepTimes::start_ns>)
        .def_prop_ro("run_ns", &column_of<&StepTimes::run_ns>)
        .def_prop_ro("end_ns", &column_of<&StepTimes::end_ns>)
        .def_prop_ro("after", &column_of<&StepTimes::after>)
        .def_prop_ro("last", &column_of<&StepTimes::last>)
        .def_prop_ro("order", &column_of<&StepTimes::order>)
        .def_prop_ro("circle", &column_of<&StepTimes::circle>);
    m.def("replay_recorded", &replay_recorded, "lane"_a, "duration_ns"_a, "gap_ns"_a, "before_first"_a,
          "before"_a, "communication"_a, "waits"_a, "lanes"_a, "communications"_a);
    m.def(
        "recorded_path",
        [](std::int64_t node, const Column<std::int64_t>& after, const Column<std::int64_t>& last,
           const Column<std::int32_t>& communication, const Column<bool>& waits, bool across) {
            return to_numpy(without_gil([&] {
                return dse::recorded::path_to(node, values_of(after), values_of(last),
                                              values_of(communication), values_of(waits), across);
            }));
        },
        "node"_a, "after"_a, "last"_a, "communication"_a, "waits"_a, "across"_a);
}
