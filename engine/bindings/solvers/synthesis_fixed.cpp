// Fixed algorithms and tighter schedules, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/solvers/synthesis.hpp"
#include "collectives/schedules/compact.hpp"
#include "collectives/schedules/fixed.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace dse::synthesis;

namespace {

using Numbers = Column<std::int32_t>;
/// Link, chunk and start of every send.
using PlayedColumns = nb::typed<nb::tuple, nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>,
                                nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>,
                                nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>>;
using Moments = Column<std::int64_t>;

std::vector<Send> sends_of_columns(const Numbers& link, const Numbers& chunk, const Moments& start) {
    std::vector<Send> sends;
    sends.reserve(link.size());
    for (std::size_t i = 0; i < link.size(); ++i)
        sends.push_back(
            {static_cast<std::uint32_t>(link(i)), static_cast<std::uint32_t>(chunk(i)), start(i)});
    return sends;
}

std::optional<PlayedColumns> play_columns(const Problem& problem, const Numbers& chunk, const Numbers& from,
                                          const Numbers& to, const Numbers& after, std::uint64_t most_sends) {
    std::vector<Message> messages;
    messages.reserve(chunk.size());
    for (std::size_t i = 0; i < chunk.size(); ++i)
        messages.push_back({static_cast<std::uint32_t>(chunk(i)), static_cast<std::uint32_t>(from(i)),
                            static_cast<std::uint32_t>(to(i)), after(i)});
    const std::optional<Sends> played = play_messages(problem, messages, most_sends);
    if (!played) return std::nullopt;
    return PlayedColumns(to_numpy(*played));
}

/// Links of a graph; nodes do not matter here but to tell places apart.
std::vector<Link> links_of_columns(const Numbers& from, const Numbers& to, const Moments& arrival,
                                   const Moments& held) {
    std::vector<Link> links;
    links.reserve(from.size());
    for (std::size_t i = 0; i < from.size(); ++i)
        links.push_back(
            {static_cast<std::uint32_t>(from(i)), static_cast<std::uint32_t>(to(i)), arrival(i), held(i)});
    return links;
}

}  // namespace

void bind_synthesis_fixed(nb::module_& m) {
    m.def("play_messages", &play_columns, "problem"_a, "chunk"_a, "source"_a, "destination"_a, "after"_a,
          "most_sends"_a);
    m.def(
        "deliveries_needed",
        [](const Problem& problem, const Numbers& link, const Numbers& chunk, const Moments& start) {
            return to_numpy(deliveries_needed(problem, sends_of_columns(link, chunk, start)));
        },
        "problem"_a, "link"_a, "chunk"_a, "start_ps"_a);
    m.def(
        "justified_starts",
        [](const Numbers& from, const Numbers& to, const Moments& arrival, const Moments& held,
           const Numbers& link, const Numbers& chunk, const Moments& start, std::uint32_t rounds,
           std::uint64_t seed, std::int64_t enough, const std::pair<Numbers, Numbers>& engines) {
            const std::vector<Link> links = links_of_columns(from, to, arrival, held);
            const std::vector<Send> sends = sends_of_columns(link, chunk, start);
            const Waits waits = waits_of(links, sends);
            const EngineLimits limits = engine_limits_of(engines.first, engines.second);
            return to_numpy(rounds == 0
                                ? earliest_starts(links, sends, waits, limits)
                                : justified_starts(links, sends, waits, rounds, seed, enough, limits));
        },
        "sources"_a, "destinations"_a, "arrival_ps"_a, "held_ps"_a, "link"_a, "chunk"_a, "start_ps"_a,
        "rounds"_a, "seed"_a, "enough_ps"_a, "engines"_a);
}
