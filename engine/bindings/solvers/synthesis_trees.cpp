// Packed trees, and what flows say of times, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/checkpoints.hpp"
#include "bindings/columns.hpp"
#include "bindings/solvers/synthesis.hpp"
#include "collectives/trees/trees.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace dse::synthesis;

namespace {

using Moments64 = Column<std::int64_t>;
using EndsOfLinks = std::pair<Column<std::int32_t>, Column<std::int32_t>>;
using Mask = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;

std::vector<std::int64_t> vector_of(const Moments64& column) {
    return {column.data(), column.data() + column.size()};
}

Supply supply_of(const Moments64& supply, const std::vector<std::uint32_t>& sinks) {
    return {vector_of(supply), sinks};
}

std::vector<Link> links_between(const EndsOfLinks& ends) {
    std::vector<Link> links;
    for (std::size_t i = 0; i < ends.first.size(); ++i)
        links.push_back(
            {static_cast<std::uint32_t>(ends.first(i)), static_cast<std::uint32_t>(ends.second(i)), 0, 0});
    return links;
}

/// The least time that flows allow, the sink that decides and the set of nodes, of no node for `from_ps`.
std::tuple<std::int64_t, std::uint32_t, Mask> flow_time(const EndsOfLinks& ends,
                                                        const std::pair<Moments64, Moments64>& times,
                                                        const Moments64& first, const Moments64& last,
                                                        const Moments64& supply,
                                                        const std::vector<std::uint32_t>& sinks,
                                                        std::int64_t from_ps) {
    std::vector<Link> links = links_between(ends);
    for (std::size_t i = 0; i < links.size(); ++i) {
        links[i].arrival = times.first(i);
        links[i].held = times.second(i);
    }
    const dse::Checkpoint checkpoint = dse::checkpoint_of(nullptr);
    FlowBound bound;
    const auto nodes = static_cast<std::uint32_t>(supply.size());
    const Supply chunks = supply_of(supply, sinks);
    const std::vector<std::int64_t> starts = vector_of(first), tails = vector_of(last);
    {
        const nb::gil_scoped_release release;
        bound = least_time_of_flows(nodes, links, starts, tails, chunks, from_ps, checkpoint);
    }
    return {bound.time, bound.sink, to_numpy(std::move(bound.inside))};
}

/// A sink to which not all of the supply flows, and the set of nodes round it that lets in too little.
std::optional<std::pair<std::uint32_t, Mask>> short_set(const EndsOfLinks& ends, const Moments64& capacity,
                                                        const Moments64& supply,
                                                        const std::vector<std::uint32_t>& sinks) {
    const Supply chunks = supply_of(supply, sinks);
    const auto nodes = static_cast<std::uint32_t>(supply.size());
    FlowNetwork network = supplied(nodes, links_between(ends), vector_of(capacity), chunks);
    const dse::Checkpoint checkpoint = dse::checkpoint_of(nullptr);
    for (const std::uint32_t sink : sinks) {
        checkpoint.look();
        if (network.flow(nodes, sink, chunks.total()) == chunks.total()) continue;
        std::vector<std::uint8_t> inside = network.sink_side(sink);
        inside.resize(nodes);
        return std::pair(sink, to_numpy(std::move(inside)));
    }
    return std::nullopt;
}

using TreeOfLinks = std::tuple<std::uint32_t, std::int64_t, std::vector<std::uint32_t>>;

/// Root, copies and links of each tree; nothing if none were found.
std::optional<std::vector<TreeOfLinks>> packed(const Problem& problem, std::int64_t time_ps, double noise,
                                               std::uint64_t seed) {
    Random random(seed);
    const auto trees = link_trees(problem, time_ps, noise, random, dse::checkpoint_of(nullptr));
    if (!trees) return std::nullopt;
    std::vector<TreeOfLinks> result;
    for (const LinkTree& tree : *trees) result.emplace_back(tree.root, tree.copies, tree.links);
    return result;
}

}  // namespace

void bind_synthesis_trees(nb::module_& m) {
    m.def("flow_time", &flow_time, "ends"_a, "times_ps"_a, "first_ps"_a, "last_ps"_a, "supply"_a, "sinks"_a,
          "from_ps"_a);
    m.def("short_set", &short_set, "ends"_a, "capacity"_a, "supply"_a, "sinks"_a);
    m.def("pack_trees", &packed, "problem"_a, "time_ps"_a, "noise"_a, "seed"_a);
}
