// Searches for schedules of collectives, for Python.
#include "bindings/solvers/synthesis.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>

#include "bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace dse::synthesis;

namespace {

using Columns32 = std::pair<Column<std::int32_t>, Column<std::int32_t>>;
using Columns64 = std::pair<Column<std::int64_t>, Column<std::int64_t>>;
using Abilities = std::pair<Column<bool>, Column<bool>>;

/// All numbers have been checked in Python: nodes, chunks and lengths fit together.
Problem problem_of(std::uint32_t npus, std::uint32_t nodes, const Columns32& ends, const Columns64& times,
                   std::uint32_t chunks, const Columns32& holdings, const std::optional<Columns32>& wants,
                   const Abilities& able, const Columns32& engines) {
    Problem problem;
    problem.npus = npus;
    problem.nodes = nodes;
    problem.chunks = chunks;
    problem.everyone_wants_all = !wants;
    problem.links.reserve(ends.first.size());
    for (std::size_t i = 0; i < ends.first.size(); ++i)
        problem.links.push_back({static_cast<std::uint32_t>(ends.first(i)),
                                 static_cast<std::uint32_t>(ends.second(i)), times.first(i),
                                 times.second(i)});
    for (std::size_t i = 0; i < holdings.first.size(); ++i)
        problem.holdings.push_back({static_cast<std::uint32_t>(holdings.first(i)),
                                    static_cast<std::uint32_t>(holdings.second(i)), 0});
    if (wants)
        for (std::size_t i = 0; i < wants->first.size(); ++i)
            problem.wants.push_back(
                {static_cast<std::uint32_t>(wants->first(i)), static_cast<std::uint32_t>(wants->second(i))});
    problem.copies.assign(able.first.data(), able.first.data() + able.first.size());
    problem.adds.assign(able.second.data(), able.second.data() + able.second.size());
    problem.engines = engine_limits_of(engines.first, engines.second);
    problem.index_links();
    return problem;
}

/// The same from another state on: other holdings, with the times at which they are there, links that are
/// free from given times on, and, if given, other wants.
Problem resumed(const Problem& problem, const Columns32& holdings, const Column<std::int64_t>& at_ps,
                const Column<std::int64_t>& free_from_ps, const std::optional<Columns32>& wants) {
    Problem later = problem;
    later.holdings.clear();
    for (std::size_t i = 0; i < holdings.first.size(); ++i)
        later.holdings.push_back({static_cast<std::uint32_t>(holdings.first(i)),
                                  static_cast<std::uint32_t>(holdings.second(i)), at_ps(i)});
    later.free_from.assign(free_from_ps.data(), free_from_ps.data() + free_from_ps.size());
    if (!wants) return later;
    later.everyone_wants_all = false;
    later.wants.clear();
    for (std::size_t i = 0; i < wants->first.size(); ++i)
        later.wants.push_back(
            {static_cast<std::uint32_t>(wants->first(i)), static_cast<std::uint32_t>(wants->second(i))});
    return later;
}

}  // namespace

EngineLimits engine_limits_of(const Column<std::int32_t>& sends, const Column<std::int32_t>& receives) {
    EngineLimits limits;
    limits.sends.assign(sends.data(), sends.data() + sends.size());
    limits.receives.assign(receives.data(), receives.data() + receives.size());
    return limits;
}

nb::tuple to_numpy(const Sends& sends) {
    std::vector<std::int32_t> link, chunk;
    std::vector<std::int64_t> start;
    link.reserve(sends.sends.size());
    chunk.reserve(sends.sends.size());
    start.reserve(sends.sends.size());
    for (const Send& send : sends.sends) {
        link.push_back(static_cast<std::int32_t>(send.link));
        chunk.push_back(static_cast<std::int32_t>(send.chunk));
        start.push_back(send.start);
    }
    return nb::make_tuple(to_numpy(std::move(link)), to_numpy(std::move(chunk)), to_numpy(std::move(start)));
}

void bind_synthesis(nb::module_& m) {
    nb::class_<Problem>(m, "CollectiveProblem")
        .def(
            "__init__",
            [](Problem* self, std::uint32_t npus, std::uint32_t nodes, const Columns32& ends,
               const Columns64& times, std::uint32_t chunks, const Columns32& holdings,
               const std::optional<Columns32>& wants, const Abilities& able, const Columns32& engines) {
                new (self)
                    Problem(problem_of(npus, nodes, ends, times, chunks, holdings, wants, able, engines));
            },
            "npus"_a, "nodes"_a, "ends"_a, "times_ps"_a, "chunks"_a, "holdings"_a, "wants"_a.none(),
            "copies_adds"_a, "engines"_a)
        .def("resumed", &resumed, "holdings"_a, "at_ps"_a, "free_from_ps"_a, "wants"_a.none() = nb::none())
        .def_ro("npus", &Problem::npus)
        .def_ro("nodes", &Problem::nodes)
        .def_ro("chunks", &Problem::chunks);
}
