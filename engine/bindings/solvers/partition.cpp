// Partitions of model graphs, for Python.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <string>
#include <tuple>

#include "bindings/bindings.hpp"
#include "bindings/columns.hpp"
#include "bindings/solvers/solvers.hpp"
#include "partition/chains/chain.hpp"
#include "partition/heuristics/multilevel.hpp"
#include "partition/ideals/ideals.hpp"
#include "partition/pieces/pieces.hpp"
#include "partition/search/elimination.hpp"
#include "partition/search/search.hpp"

namespace nb = nanobind;
using namespace nb::literals;
// Not `using`: other files of the module, which may be compiled with this one, have a Problem too.
namespace dse::partition {

namespace {

template <typename T>
std::vector<T> vector_of(const Column<T>& column) {
    return {column.data(), column.data() + column.size()};
}

/// Arrays of nodes, edges, links between devices, and devices, one argument each. Not named Edges and so on,
/// which are types of the engine.
using NodeColumns = std::tuple<Column<double>, Column<double>, Column<std::int32_t>, Column<std::uint32_t>,
                               Column<std::uint32_t>>;
using EdgeColumns =
    std::tuple<Column<std::uint32_t>, Column<std::uint32_t>, Column<std::uint32_t>, Column<double>>;
using LinkColumns = std::tuple<Column<double>, Column<double>, Column<double>>;
using DeviceColumns = std::tuple<Column<double>, Column<double>>;

/// Callers of the engine alone would read beyond the end of an array.
template <typename T>
void require_size(const char* name, const Column<T>& column, std::size_t size) {
    if (column.size() == size) return;
    throw nb::value_error((std::string(name) + " has " + std::to_string(column.size()) +
                           " numbers, must have " + std::to_string(size))
                              .c_str());
}

template <typename T>
void require_below(const char* name, const Column<T>& column, std::size_t end, bool may_be_negative = false) {
    for (std::size_t i = 0; i < column.size(); ++i) {
        if (may_be_negative && column(i) < T{}) continue;
        if (static_cast<std::uint64_t>(column(i)) < end) continue;
        throw nb::value_error((std::string(name) + "[" + std::to_string(i) + "] is " +
                               std::to_string(column(i)) + ", must be below " + std::to_string(end))
                                  .c_str());
    }
}

/// Refuses what cannot be an index or is missing. Python has checked all else.
Problem problem_of(std::uint32_t objective, bool free_order, const NodeColumns& nodes,
                   const EdgeColumns& edges, const LinkColumns& links, const DeviceColumns& devices,
                   double weight_limit) {
    const std::size_t count = std::get<0>(nodes).size(), devices_count = std::get<0>(devices).size();
    if (objective > static_cast<std::uint32_t>(Objective::kLatency))
        throw nb::value_error("objective must be 0 to 3");
    require_size("memory", std::get<1>(nodes), count);
    require_size("pinned", std::get<2>(nodes), count);
    require_size("order", std::get<3>(nodes), count);
    require_size("leader", std::get<4>(nodes), count);
    require_below("pinned", std::get<2>(nodes), devices_count, true);
    require_below("order", std::get<3>(nodes), count);
    require_below("leader", std::get<4>(nodes), count);
    require_size("capacity", std::get<1>(devices), devices_count);
    require_size("distance", std::get<0>(links), devices_count * devices_count);
    require_size("latency", std::get<1>(links), devices_count * devices_count);
    require_size("per_byte", std::get<2>(links), devices_count * devices_count);
    const std::size_t ends = std::get<0>(edges).size();
    require_size("to", std::get<1>(edges), ends);
    require_size("tensor", std::get<2>(edges), ends);
    require_size("bytes", std::get<3>(edges), ends);
    require_below("from", std::get<0>(edges), count);
    require_below("to", std::get<1>(edges), count);
    require_below("tensor", std::get<2>(edges), std::max<std::size_t>(1, ends));
    Problem problem;
    problem.objective = static_cast<Objective>(objective);
    problem.free_order = free_order;
    problem.weight = vector_of(std::get<0>(nodes));
    problem.memory = vector_of(std::get<1>(nodes));
    problem.pinned = vector_of(std::get<2>(nodes));
    problem.order = vector_of(std::get<3>(nodes));
    problem.leader = vector_of(std::get<4>(nodes));
    problem.nodes = problem.weight.size();
    const auto& [from, to, tensor, bytes] = edges;
    problem.edges.reserve(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
        problem.edges.push_back({from(i), to(i), tensor(i), bytes(i)});
        problem.tensors = std::max(problem.tensors, tensor(i) + 1);
    }
    problem.speed = vector_of(std::get<0>(devices));
    problem.capacity = vector_of(std::get<1>(devices));
    problem.devices = problem.speed.size();
    problem.distance = Square(problem.devices, vector_of(std::get<0>(links)));
    problem.latency = Square(problem.devices, vector_of(std::get<1>(links)));
    problem.per_byte = Square(problem.devices, vector_of(std::get<2>(links)));
    problem.weight_limit = weight_limit;
    return problem;
}

/// True once `seconds` have passed; looks for Ctrl-C at most every 50 ms, in a thread that has let go of the
/// GIL.
class Expiry {
public:
    explicit Expiry(double seconds)
        : end_(Clock::now() +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
    bool operator()() {
        const Clock::time_point now = Clock::now();
        if (now >= next_look_) {
            next_look_ = now + std::chrono::milliseconds(50);
            const nb::gil_scoped_acquire gil;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        return now >= end_;
    }

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point end_;
    Clock::time_point next_look_ = Clock::now() + std::chrono::milliseconds(50);
};

using Answer = std::tuple<nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>, double, double, bool>;

template <typename Result>
Answer answer_of(Result result) {
    return {to_numpy(std::move(result.labels)), result.cost, result.bound, result.complete};
}

/// A search until the time is over, without the GIL.
template <typename Search>
auto until(double seconds, Search search) {
    return without_gil([&] { return search(Expiry(seconds)); });
}

void bind(nb::module_& m) {
    m.attr("PARTITION_SLACK") = kSlack;
    nb::class_<Problem>(m, "PartitionArrays")
        .def(nb::new_(&problem_of), "objective"_a, "free_order"_a, "nodes"_a, "edges"_a, "links"_a,
             "devices"_a, "weight_limit"_a)
        .def_prop_ro("order_states", &order_states)
        .def_prop_ro(
            "interchangeable", [](const Problem& problem) { return to_numpy(interchangeable(problem)); },
            nb::rv_policy::move)
        .def(
            "branch_and_bound",
            [](const Problem& problem, double upper, double seconds) {
                return answer_of(until(
                    seconds, [&](const auto& expired) { return branch_and_bound(problem, upper, expired); }));
            },
            "upper"_a, "seconds"_a)
        .def(
            "ideals_bottleneck",
            [](const Problem& problem, double lower, double upper, std::size_t most_states, double seconds) {
                return answer_of(until(seconds, [&](const auto& expired) {
                    return ideals_bottleneck(problem, lower, upper, most_states, expired);
                }));
            },
            "lower"_a, "upper"_a, "most_states"_a, "seconds"_a)
        .def_prop_ro("has_no_limits", &has_no_limits)
        .def(
            "least_mapping",
            [](const Problem& problem, double most_work, double seconds) {
                return to_numpy(until(seconds, [&](const auto& expired) {
                    return least_mapping(problem, most_work, expired);
                }));
            },
            "most_work"_a, "seconds"_a)
        .def(
            "multilevel",
            [](const Problem& problem, std::uint64_t seed, int starts, int cycles,
               const Column<std::int32_t>& known, double seconds, bool by_flows) {
                if (known.size() != 0) require_size("known", known, problem.nodes);
                require_below("known", known, problem.devices);
                const Effort effort{seed, starts, cycles, vector_of(known), by_flows};
                return answer_of(until(
                    seconds, [&](const auto& expired) { return multilevel(problem, effort, expired); }));
            },
            "seed"_a, "starts"_a, "cycles"_a, "known"_a, "seconds"_a, "by_flows"_a)
        .def(
            "chain_bottleneck",
            [](const Problem& problem, double upper, double seconds) {
                return answer_of(until(
                    seconds, [&](const auto& expired) { return chain_bottleneck(problem, upper, expired); }));
            },
            "upper"_a, "seconds"_a)
        .def(
            "least_cut_into_pieces",
            [](const Problem& problem, const Column<double>& cost, double limit, double upper,
               std::size_t effort, double seconds) {
                require_size("cost", cost, problem.edges.size());
                PiecesResult result = until(seconds, [&](const auto& expired) {
                    return least_cut_into_pieces(problem, vector_of(cost), limit, upper, effort, expired);
                });
                return std::make_tuple(to_numpy(std::move(result.piece)), result.bound, result.complete);
            },
            "cost"_a, "limit"_a, "upper"_a, "effort"_a, "seconds"_a)
        .def(
            "contiguous_sharding",
            [](const Problem& problem, const Column<std::uint32_t>& devices, double upper) {
                require_size("devices", devices, problem.devices);
                require_below("devices", devices, problem.devices);
                return answer_of(contiguous_sharding(problem, vector_of(devices), upper));
            },
            "devices"_a, "upper"_a);
}

}  // namespace

}  // namespace dse::partition

void bind_partition(nb::module_& m) { dse::partition::bind(m); }
