// The searches for schedules, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/checkpoints.hpp"
#include "bindings/solvers/synthesis.hpp"
#include "collectives/exact/exact.hpp"
#include "collectives/search/beam.hpp"
#include "collectives/search/improve.hpp"
#include "collectives/search/restarts.hpp"
#include "collectives/search/sums.hpp"
#include "collectives/trees/negotiated.hpp"
#include "collectives/trees/sum_trees_search.hpp"
#include "collectives/trees/trees.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace dse::synthesis;

namespace {

constexpr std::chrono::milliseconds kBetweenReports{50};

/// `report(best_ps or None, trials)`, called every 50 ms at most; None means no reports.
Effort effort_of(std::uint64_t seed, std::uint32_t trials, Picoseconds enough_ps, const nb::object& report) {
    Effort effort{seed, trials, enough_ps, {}};
    if (report.is_none()) return effort;
    effort.report = [report = report.ptr(), next = std::chrono::steady_clock::time_point::min()](
                        std::optional<Picoseconds> best, std::uint32_t done) mutable {
        const auto now = std::chrono::steady_clock::now();
        if (now < next) return;
        next = now + kBetweenReports;
        const nb::gil_scoped_acquire acquire;
        const nb::handle call(report);
        call(best ? nb::object(nb::int_(*best)) : nb::object(nb::none()), done);
    };
    return effort;
}

std::vector<Variant> variants_of(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& numbers) {
    std::vector<Variant> variants;
    for (const auto& [approach, rule] : numbers)
        variants.push_back({static_cast<Approach>(approach), static_cast<Rule>(rule)});
    return variants;
}

using Places = std::pair<Column<std::int32_t>, Column<std::int32_t>>;  // nodes and chunks

std::vector<Want> wants_of(const Places& places) {
    std::vector<Want> wants;
    wants.reserve(places.first.size());
    for (std::size_t i = 0; i < places.first.size(); ++i)
        wants.push_back(
            {static_cast<std::uint32_t>(places.first(i)), static_cast<std::uint32_t>(places.second(i))});
    return wants;
}

/// Link, chunk and `reduce` of sends, orders of them as keys, and link and start of the sends of others.
using Given = std::tuple<Column<std::int32_t>, Column<std::int32_t>, Column<std::uint8_t>,
                         std::vector<Column<std::int64_t>>, Column<std::int32_t>, Column<std::int64_t>>;

GivenTrees given_trees(const Given& given) {
    const auto& [link, chunk, reduce, keys, links_of_others, starts_of_others] = given;
    GivenTrees trees;
    for (std::size_t i = 0; i < link.size(); ++i)
        trees.sends.push_back({static_cast<std::uint32_t>(link(i)), static_cast<std::uint32_t>(chunk(i)), 0});
    trees.reduce.assign(reduce.data(), reduce.data() + reduce.size());
    for (const Column<std::int64_t>& of_sends : keys)
        trees.keys.emplace_back(of_sends.data(), of_sends.data() + of_sends.size());
    for (std::size_t i = 0; i < links_of_others.size(); ++i)
        trees.reserved.push_back({static_cast<std::uint32_t>(links_of_others(i)), 0, starts_of_others(i)});
    return trees;
}

template <typename T>
using NumpyColumn = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using SendColumns =
    nb::typed<nb::tuple, NumpyColumn<std::int32_t>, NumpyColumn<std::int32_t>, NumpyColumn<std::int64_t>>;

/// Link, chunk and start of sends, and how many runs found them.
std::pair<SendColumns, std::uint32_t> to_python(Found found) {
    found.sends.unpack();
    const std::size_t size = found.sends.size;
    const auto column = [size]<typename T>(T* numbers) {
        const nb::capsule owner(numbers, release_untouched);
        return NumpyColumn<T>(numbers, {size}, owner);
    };
    nb::tuple columns = nb::make_tuple(column(reinterpret_cast<std::int32_t*>(found.sends.link.release())),
                                       column(reinterpret_cast<std::int32_t*>(found.sends.chunk.release())),
                                       column(found.sends.start.release()));
    return {nb::borrow<SendColumns>(columns), found.trials};
}

/// The schedule as it was found: columns are only made of it when they are asked for.
struct FoundSends {
    Columns sends;

    SendColumns take_columns() {
        if (std::exchange(is_taken, true)) throw std::logic_error("the columns were taken before");
        return to_python({std::move(sends), 0}).first;
    }

    bool is_taken = false;
};

/// Checked in Python: links and chunks are those of the problem.
Sends sends_of(const Column<std::int32_t>& link, const Column<std::int32_t>& chunk,
               const Column<std::int64_t>& start_ps) {
    Sends sends;
    sends.sends.reserve(link.size());
    for (std::size_t i = 0; i < link.size(); ++i)
        sends.sends.push_back(
            {static_cast<std::uint32_t>(link(i)), static_cast<std::uint32_t>(chunk(i)), start_ps(i)});
    return sends;
}

/// Runs a search of an effort and a checkpoint without the GIL.
template <typename Search>
Found find(std::uint64_t seed, std::uint32_t trials, Picoseconds enough_ps,
           const dse::Cancellation* cancellation, const nb::object& report, const Search& search) {
    const dse::Checkpoint checkpoint = dse::checkpoint_of(cancellation);
    const Effort effort = effort_of(seed, trials, enough_ps, report);
    const nb::gil_scoped_release release;
    return search(effort, checkpoint);
}

/// The same of a search that sums: columns, which sends are sums, and how many runs found them.
template <typename Search>
auto sums_by(const dse::Cancellation* cancellation, const Search& search) {
    const dse::Checkpoint checkpoint = dse::checkpoint_of(cancellation);
    FoundSums found;
    {
        const nb::gil_scoped_release release;
        found = search(checkpoint);
    }
    return std::tuple(to_python({to_columns(found.sends), found.trials}).first, found.sums, found.trials);
}

/// The same as `find`, as columns.
template <typename Search>
std::pair<SendColumns, std::uint32_t> found_by(std::uint64_t seed, std::uint32_t trials,
                                               Picoseconds enough_ps, const dse::Cancellation* cancellation,
                                               const nb::object& report, const Search& search) {
    return to_python(find(seed, trials, enough_ps, cancellation, report, search));
}

}  // namespace

void bind_synthesis_search(nb::module_& m) {
    nb::class_<FoundSends>(m, "FoundSends")
        .def("__len__", [](const FoundSends& found) { return found.sends.size; })
        .def_prop_ro("time_ps", [](const FoundSends& found) { return found.sends.time; })
        .def("take_columns", &FoundSends::take_columns);
    m.def(
        "search_restarts",
        [](const Problem& problem, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& variants,
           std::uint64_t seed, std::uint32_t trials, Picoseconds enough_ps,
           const dse::Cancellation* cancellation, const nb::object& report) {
            Found found = find(seed, trials, enough_ps, cancellation, report,
                               [&](const Effort& effort, const dse::Checkpoint& checkpoint) {
                                   return search_restarts(problem, variants_of(variants), effort, checkpoint);
                               });
            return std::pair(FoundSends{.sends = std::move(found.sends)}, found.trials);
        },
        "problem"_a, "variants"_a, "seed"_a, "trials"_a, "enough_ps"_a, "cancellation"_a.none(),
        "report"_a.none());
    m.def(
        "search_improve",
        [](const Problem& problem, const Column<std::int32_t>& link, const Column<std::int32_t>& chunk,
           const Column<std::int64_t>& start_ps, std::uint64_t seed, std::uint32_t trials,
           Picoseconds enough_ps, const dse::Cancellation* cancellation, const nb::object& report) {
            const Sends sends = sends_of(link, chunk, start_ps);
            return found_by(seed, trials, enough_ps, cancellation, report,
                            [&](const Effort& effort, const dse::Checkpoint& checkpoint) {
                                return improve(problem, sends, effort, checkpoint);
                            });
        },
        "problem"_a, "link"_a, "chunk"_a, "start_ps"_a, "seed"_a, "trials"_a, "enough_ps"_a,
        "cancellation"_a.none(), "report"_a.none());
    m.def(
        "search_beam",
        [](const Problem& problem, std::uint32_t beams, std::uint32_t fitness, double temperature,
           std::uint64_t seed, std::uint32_t trials, Picoseconds enough_ps,
           const dse::Cancellation* cancellation, const nb::object& report) {
            const BeamOptions options{beams, static_cast<Fitness>(fitness), temperature};
            return found_by(seed, trials, enough_ps, cancellation, report,
                            [&](const Effort& effort, const dse::Checkpoint& checkpoint) {
                                return search_beam(problem, options, effort, checkpoint);
                            });
        },
        "problem"_a, "beams"_a, "fitness"_a, "temperature"_a, "seed"_a, "trials"_a, "enough_ps"_a,
        "cancellation"_a.none(), "report"_a.none());
    m.def(
        "search_sums",
        [](const Problem& problem, bool has_sums, const Column<std::int32_t>& link,
           const Column<std::int32_t>& chunk, const Column<std::int64_t>& start_ps,
           const Column<std::uint8_t>& reduce, std::uint64_t seed, std::uint32_t trials,
           Picoseconds enough_ps, const dse::Cancellation* cancellation) {
            const Sends sends = sends_of(link, chunk, start_ps);
            const std::vector<std::uint8_t> sums(reduce.data(), reduce.data() + reduce.size());
            return sums_by(cancellation, [&](const dse::Checkpoint& checkpoint) {
                return improve_sums(problem, has_sums, sends, sums, {seed, trials, enough_ps, {}},
                                    checkpoint);
            });
        },
        "problem"_a, "has_sums"_a, "link"_a, "chunk"_a, "start_ps"_a, "reduce"_a, "seed"_a, "trials"_a,
        "enough_ps"_a, "cancellation"_a.none());
    m.def(
        "negotiate_trees",
        [](const Problem& problem, bool has_sums, const std::vector<std::vector<std::uint32_t>>& links,
           const std::vector<std::vector<std::uint32_t>>& chunks, Picoseconds known_ps, std::uint64_t work,
           std::uint64_t seed, Picoseconds enough_ps, const dse::Cancellation* cancellation) {
            return sums_by(cancellation, [&](const dse::Checkpoint& checkpoint) {
                return negotiate_trees(problem, has_sums, {links, chunks}, known_ps, work,
                                       {seed, 0, enough_ps, {}}, checkpoint);
            });
        },
        "problem"_a, "has_sums"_a, "links"_a, "chunks"_a, "known_ps"_a, "work"_a, "seed"_a, "enough_ps"_a,
        "cancellation"_a.none());
    m.def(
        "decide_schedule",
        [](const Problem& problem, Picoseconds within_ps, std::uint64_t seed, std::uint64_t most_fails,
           const dse::Cancellation* cancellation) {
            const dse::Checkpoint checkpoint = dse::checkpoint_of(cancellation);
            Decision made;
            {
                const nb::gil_scoped_release release;
                made = decide(problem, within_ps, seed, most_fails, checkpoint);
            }
            std::optional<SendColumns> found;
            if (made.answer == Decision::kFound) found = to_python({to_columns(made.sends), 0}).first;
            return std::tuple(made.answer == Decision::kRefuted, std::move(found), made.fails);
        },
        "problem"_a, "within_ps"_a, "seed"_a, "most_fails"_a, "cancellation"_a.none());
    m.def(
        "search_sum_trees",
        [](const Problem& problem, std::uint64_t work, std::uint64_t seed, std::uint32_t trials,
           Picoseconds enough_ps, const dse::Cancellation* cancellation,
           const std::optional<std::pair<Places, Places>>& ends, const std::optional<Given>& given,
           bool exchange, const std::vector<std::uint32_t>& lanes) {
            GivenTrees trees = given ? given_trees(*given) : GivenTrees{};
            trees.exchange = exchange;
            trees.lanes = lanes;
            return sums_by(cancellation, [&](const dse::Checkpoint& checkpoint) {
                const EndsOfChunks known =
                    ends ? ends_of(problem, wants_of(ends->first), wants_of(ends->second))
                         : ends_of_all(problem);
                return search_sum_trees(problem, known, trees, work, {seed, trials, enough_ps, {}},
                                        checkpoint);
            });
        },
        "problem"_a, "work"_a, "seed"_a, "trials"_a, "enough_ps"_a, "cancellation"_a.none(),
        "ends"_a.none() = nb::none(), "given"_a.none() = nb::none(), "exchange"_a = false,
        "lanes"_a = std::vector<std::uint32_t>{});
    m.def(
        "search_trees",
        [](const Problem& problem, std::uint64_t seed, std::uint32_t trials, Picoseconds enough_ps,
           const dse::Cancellation* cancellation, const nb::object& report) {
            TreesFound trees;
            auto [columns, runs] = found_by(seed, trials, enough_ps, cancellation, report,
                                            [&](const Effort& effort, const dse::Checkpoint& checkpoint) {
                                                trees = search_trees(problem, effort, checkpoint);
                                                return std::move(trees.found);
                                            });
            return std::tuple(columns, runs, trees.flow_time, trees.packed_for, trees.trees);
        },
        "problem"_a, "seed"_a, "trials"_a, "enough_ps"_a, "cancellation"_a.none(), "report"_a.none());
}
