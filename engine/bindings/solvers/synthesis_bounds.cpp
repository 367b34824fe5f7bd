// Lower bounds on collectives, and schedules of symmetric graphs, for Python.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/checkpoints.hpp"
#include "bindings/solvers/synthesis.hpp"
#include "collectives/bounds/bounds.hpp"
#include "collectives/bounds/demand_cuts.hpp"
#include "collectives/symmetric/mesh.hpp"
#include "collectives/symmetric/mesh_check.hpp"
#include "collectives/symmetric/symmetric.hpp"
#include "collectives/symmetric/symmetric_routes.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace dse::synthesis;

namespace {

template <typename T>
std::span<const T> span_of(const Column<T>& column) {
    return {column.data(), column.size()};
}

/// All columns have been made in Python, of the lengths that they are to have.
TimedLinks timed_links(std::uint32_t npus, std::uint32_t nodes,
                       const std::pair<Column<std::int32_t>, Column<std::int32_t>>& ends,
                       const std::pair<Column<std::int64_t>, Column<std::int64_t>>& times, std::int64_t own) {
    TimedLinks graph;
    graph.npus = npus;
    graph.nodes = nodes;
    graph.links.reserve(ends.first.size());
    for (std::size_t i = 0; i < ends.first.size(); ++i)
        graph.links.push_back({static_cast<std::uint32_t>(ends.first(i)),
                               static_cast<std::uint32_t>(ends.second(i)), times.first(i), times.second(i)});
    graph.index_links();
    if (own > 0) graph.limit_own(own);
    return graph;
}

/// Cut, entry window, and the moment that decides the window.
std::tuple<Picoseconds, Picoseconds, Picoseconds> bounds_of(const EntryLinks& links, std::int64_t need) {
    const EntryBound window = entry_window(links, need);
    return {cut(links, need), window.time, window.moment};
}

/// `role` 0: from outside to nodes that want the chunks; 1: to others; 2: inside.
EntryLinks entry_links_of(const Column<std::int64_t>& role, const Column<std::int64_t>& start,
                          const Column<std::int64_t>& arrival, const Column<std::int64_t>& held,
                          const Column<std::int64_t>& count, const Column<std::int64_t>& limit,
                          std::int64_t wanting) {
    EntryLinks links;
    links.wanting = wanting;
    for (std::size_t i = 0; i < role.size(); ++i)
        (role(i) == 0   ? links.to_wanting
         : role(i) == 1 ? links.to_others
                        : links.inside)
            .push_back({start(i), 0, arrival(i), held(i), count(i), limit(i)});
    return links;
}

/// The time of the longest cut, and its nodes: none if no set takes longer than `from`. `demand` is the
/// matrix row by row, and so are the masks `starts`.
std::pair<Picoseconds, nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>> longest_cut(
    const TimedLinks& graph, const Column<std::int64_t>& first, const Column<std::int64_t>& last,
    const Column<std::int64_t>& demand, const Column<std::uint8_t>& starts, Picoseconds from) {
    DemandLinks links;
    links.nodes = graph.nodes;
    for (const Link& link : graph.links) {
        links.from.push_back(link.from);
        links.to.push_back(link.to);
        links.times.push_back({first(link.from), last(link.to), link.arrival, link.held});
    }
    const std::vector<Amount> chunks(demand.data(), demand.data() + demand.size());
    std::vector<std::vector<std::uint8_t>> sets;
    for (std::size_t i = 0; i + graph.nodes <= starts.size(); i += graph.nodes)
        sets.emplace_back(starts.data() + i, starts.data() + i + graph.nodes);
    const dse::Checkpoint checkpoint = dse::checkpoint_of(nullptr);
    DemandCut found;
    {
        const nb::gil_scoped_release release;
        found = longest_demand_cut(links, chunks, sets, from, checkpoint);
    }
    return {found.time, to_numpy(std::move(found.inside))};
}

/// `next`: u + g for every node u and generator g, row by row.
Generators generators_of(std::uint32_t nodes, const Column<std::int32_t>& next,
                         const std::pair<Column<std::int64_t>, Column<std::int64_t>>& times) {
    Generators generators;
    generators.nodes = nodes;
    generators.count = static_cast<std::uint32_t>(times.first.size());
    generators.next.assign(next.data(), next.data() + next.size());
    generators.arrival.assign(times.first.data(), times.first.data() + times.first.size());
    generators.held.assign(times.second.data(), times.second.data() + times.second.size());
    generators.index_previous();
    return generators;
}

using TreeColumns = std::tuple<
    nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>, nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>,
    nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>, nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>>;

/// Generator, node, chunk and start of each send.
TreeColumns columns_of(const std::vector<TreeSend>& sends) {
    std::vector<std::int32_t> generator, node, chunk;
    std::vector<std::int64_t> start;
    for (const TreeSend& send : sends) {
        generator.push_back(static_cast<std::int32_t>(send.generator));
        node.push_back(static_cast<std::int32_t>(send.node));
        chunk.push_back(static_cast<std::int32_t>(send.chunk));
        start.push_back(send.start);
    }
    return {to_numpy(std::move(generator)), to_numpy(std::move(node)), to_numpy(std::move(chunk)),
            to_numpy(std::move(start))};
}

/// Both searches have the same methods.
template <typename Search>
void bind_search(nb::module_& m, const char* name) {
    nb::class_<Search>(m, name)
        .def(
            "__init__",
            [](Search* self, std::uint32_t nodes, const Column<std::int32_t>& next,
               const std::pair<Column<std::int64_t>, Column<std::int64_t>>& times, std::uint32_t chunks,
               std::uint64_t seed) { new (self) Search(generators_of(nodes, next, times), chunks, seed); },
            "nodes"_a, "next"_a, "times_ps"_a, "chunks"_a, "seed"_a)
        .def("search", &Search::search, "runs"_a, "enough_ps"_a, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("time_ps", [](const Search& search) { return search.best().time; })
        .def_prop_ro("runs", &Search::runs)
        .def("sends", [](const Search& search) { return columns_of(search.best().sends); });
}

using MeshColumns = std::tuple<
    nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>, nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>,
    nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>, nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>>;

/// Twice the dimension, and one more for links downwards; node, chunk and start of each send.
MeshColumns columns_of(const MeshGather& gather) {
    std::vector<std::int32_t> way, node, chunk;
    std::vector<std::int64_t> start;
    for (std::uint32_t leg = 0; leg < gather.legs(); ++leg)
        for (std::uint32_t dimension = 0; dimension < gather.legs(); ++dimension)
            for (const Lane& lane : gather.lanes(dimension))
                gather.visit(leg, lane, [&](std::uint32_t place, std::span<const Timed> sends) {
                    const auto from = static_cast<std::int32_t>(lane.node(gather.mesh(), place));
                    for (const Timed& send : sends) {
                        way.push_back(static_cast<std::int32_t>(2 * dimension + (lane.downwards ? 1 : 0)));
                        node.push_back(from);
                        chunk.push_back(static_cast<std::int32_t>(send.chunk));
                        start.push_back(send.time);
                    }
                });
    return {to_numpy(std::move(way)), to_numpy(std::move(node)), to_numpy(std::move(chunk)),
            to_numpy(std::move(start))};
}

/// `first` has the first dimension of each chunk, as int32.
void make_mesh(MeshGather* self, const Column<std::int64_t>& sizes,
               const std::pair<Column<std::int64_t>, Column<std::int64_t>>& times,
               const Column<std::int32_t>& first, const dse::Cancellation* cancellation) {
    Mesh mesh;
    for (std::size_t i = 0; i < sizes.size(); ++i) mesh.sizes.push_back(static_cast<std::uint32_t>(sizes(i)));
    mesh.arrival.assign(times.first.data(), times.first.data() + times.first.size());
    mesh.held.assign(times.second.data(), times.second.data() + times.second.size());
    for (std::size_t i = 0; i < first.size(); ++i) mesh.first.push_back(static_cast<std::uint8_t>(first(i)));
    const dse::Checkpoint checkpoint = dse::checkpoint_of(cancellation);
    const nb::gil_scoped_release release;
    new (self) MeshGather(std::move(mesh), checkpoint);
}

void bind_mesh(nb::module_& m) {
    nb::class_<MeshGather>(m, "MeshGather")
        .def("__init__", &make_mesh, "sizes"_a, "times_ps"_a, "first"_a, "cancellation"_a.none())
        .def_prop_ro("time_ps", &MeshGather::time)
        .def("sends_along",
             [](const MeshGather& gather) {
                 const auto& sends = gather.sends();
                 return to_numpy(std::vector<std::int64_t>(sends.begin(), sends.end()));
             })
        .def("last_starts_ps",
             [](const MeshGather& gather) {
                 auto last = gather.last_starts();
                 return to_numpy(std::move(last));
             })
        .def("sends", [](const MeshGather& gather) { return columns_of(gather); })
        .def(
            "violation",
            [](const MeshGather& gather, const dse::Cancellation* cancellation) {
                const dse::Checkpoint checkpoint = dse::checkpoint_of(cancellation);
                const nb::gil_scoped_release release;
                return mesh_violation(gather, checkpoint);
            },
            "cancellation"_a.none());
}

}  // namespace

void bind_synthesis_bounds(nb::module_& m) {
    bind_mesh(m);
    nb::class_<TimedLinks>(m, "TimedLinks")
        .def(
            "__init__",
            [](TimedLinks* self, std::uint32_t npus, std::uint32_t nodes,
               const std::pair<Column<std::int32_t>, Column<std::int32_t>>& ends,
               const std::pair<Column<std::int64_t>, Column<std::int64_t>>& times,
               std::int64_t own) { new (self) TimedLinks(timed_links(npus, nodes, ends, times, own)); },
            "npus"_a, "nodes"_a, "ends"_a, "times_ps"_a, "own"_a)
        .def(
            "distances",
            [](const TimedLinks& graph, const Column<std::uint32_t>& sources, bool reversed) {
                return to_numpy(distances(graph, span_of(sources), reversed));
            },
            "sources"_a, "reversed"_a = false)
        .def(
            "longest_way",
            [](const TimedLinks& graph, std::uint32_t sources) {
                const WayBound way = longest_way(graph, sources);
                return std::tuple(way.time, way.from, way.to);
            },
            "sources"_a)
        .def(
            "busiest_node",
            [](const TimedLinks& graph, const Column<std::int64_t>& need, const Column<std::int64_t>& wait,
               bool reversed) {
                const NodeBound bound = busiest_node(graph, span_of(need), span_of(wait), reversed);
                return std::pair(bound.time, bound.node);
            },
            "need"_a, "wait_ps"_a, "reversed"_a = false)
        .def(
            "all_deliveries",
            [](const TimedLinks& graph, std::int64_t need, const Column<std::int64_t>& wait, bool npus_only) {
                return all_deliveries(graph, need, span_of(wait), npus_only);
            },
            "need"_a, "wait_ps"_a, "npus_only"_a)
        .def(
            "entry_times",
            [](const TimedLinks& graph, const Column<std::int64_t>& first,
               const Column<std::uint8_t>& inside) {
                return to_numpy(entry_times(graph, span_of(first), span_of(inside)));
            },
            "first_ps"_a, "inside"_a)
        .def(
            "joined_by",
            [](const TimedLinks& graph, Picoseconds longest) { return to_numpy(joined_by(graph, longest)); },
            "longest_ps"_a)
        .def(
            "entry_bounds",
            [](const TimedLinks& graph, const Column<std::int64_t>& start, const Column<std::uint8_t>& inner,
               const Column<std::uint8_t>& wanting, std::int64_t need) {
                return bounds_of(entry_links(graph, {span_of(start), span_of(inner), span_of(wanting)}),
                                 need);
            },
            "start_ps"_a, "inner"_a, "wanting"_a, "need"_a)
        .def(
            "deepest_node",
            [](const TimedLinks& graph, const Column<std::int64_t>& start, const Column<std::uint8_t>& inner,
               const Column<std::uint8_t>& wanting, std::int64_t need) {
                const NodeBound bound =
                    deepest_node(graph, {span_of(start), span_of(inner), span_of(wanting)}, need);
                return std::pair(bound.time, bound.node);
            },
            "start_ps"_a, "inner"_a, "wanting"_a, "need"_a)
        .def("longest_demand_cut", &longest_cut, "first_ps"_a, "last_ps"_a, "demand"_a, "starts"_a,
             "from_ps"_a);
    m.def(
        "entry_bounds",
        [](const Column<std::int64_t>& role, const Column<std::int64_t>& start,
           const Column<std::int64_t>& arrival, const Column<std::int64_t>& held,
           const Column<std::int64_t>& count, const Column<std::int64_t>& limit, std::int64_t wanting,
           std::int64_t need) {
            return bounds_of(entry_links_of(role, start, arrival, held, count, limit, wanting), need);
        },
        "role"_a, "start_ps"_a, "arrival_ps"_a, "held_ps"_a, "count"_a, "limit"_a, "wanting"_a, "need"_a);
    bind_search<TreeSearch>(m, "TreeSearch");
    bind_search<RouteSearch>(m, "RouteSearch");
}
