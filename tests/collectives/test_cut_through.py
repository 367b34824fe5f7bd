"""Switches that cut through: times by hand, what the checker refuses, and schedules that only gain by it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from link_graphs import MIB, faults, star

from dse.base.errors import InputError
from dse.collectives import COLLECTIVES, Collective, LinkModel, Problem, Schedule
from dse.collectives.check.checker import check, check_sends
from dse.collectives.problem.recorded_sends import SendTable
from dse.collectives.robust.failures import Failure
from dse.collectives.robust.repair import repair
from dse.collectives.robust.variance import Variance, spread
from dse.collectives.search.reductions import tightened
from dse.collectives.search.replay import Replay, compacted
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.collectives.search.times_by_size import curve
from dse.inputs.networks import LinkGraph

CUT = LinkModel(forwarding="cut_through")
QUICK = Effort(trials=2, time_limit_s=1)
# 1 MiB at 50 GB/s; the links of `star` have 500 ns.
SERIAL, LATENCY = 20_971_520, 500_000


def problem_on(graph: LinkGraph, name: str, model: LinkModel = CUT, k: int = 1, root: int = 0) -> Problem:
    return Problem(graph, Collective(name, graph.npus, k, root), Fraction(MIB), model)


def line_of_switches(switches: int) -> LinkGraph:
    """NPU 0, switches in a row, NPU 1; links of 300, 600, 900 … ns both ways."""
    order = [0, *range(2, 2 + switches), 1]
    links = [(a, b, 300 * (i + 1), 50) for i, (a, b) in enumerate(itertools.pairwise(order))]
    return LinkGraph.of(2, 2 + switches, [*links, *((b, a, latency, w) for a, b, latency, w in links)])


def switched(seed: int) -> LinkGraph:
    """NPUs with a switch each, switches joined at random, some NPUs linked by any links as well."""
    random = Random(seed)
    npus, switches = random.randint(2, 6), random.randint(1, 3)
    nodes, gbps = npus + switches, random.choice([25, 50, 90])
    home = {npu: npus + random.randrange(switches) for npu in range(npus)}
    pairs = set(home.items()) | {(s, s + 1) for s in range(npus, nodes - 1)}
    pairs |= {(random.randrange(npus), random.randrange(npus, nodes)) for _ in range(random.randint(0, 4))}
    links = [
        (*ends, latency, gbps)
        for a, b in sorted(pairs)
        for latency in [random.choice([1, 300, 700])]
        for ends in ((a, b), (b, a))
    ]
    direct = {tuple(random.sample(range(npus), 2)) for _ in range(random.randint(0, 3))}
    links += [(a, b, random.choice([0, 500]), random.choice([10, 400])) for a, b in sorted(direct)]
    return LinkGraph.of(npus, nodes, links)


def of_several_speeds(graph: LinkGraph, seed: int) -> LinkGraph:
    """The graph with a bandwidth drawn for every link."""
    random = Random(seed)
    kinds = [graph.kinds[kind] for kind in graph.kind_of.tolist()]
    ends = zip(graph.sources.tolist(), graph.destinations.tolist(), kinds, strict=True)
    links = [(a, b, kind.latency_ns, random.choice([10, 25, 40])) for a, b, kind in ends]
    return LinkGraph.of(graph.npus, graph.nodes, links)


@pytest.mark.parametrize(
    ("first", "second", "leaves_ps", "time_ps"),
    [  # GB/s of the links to the switch and from it; 40,000 bytes take 4 us at 10 GB/s, and 1 us at 40
        (10, 10, 300_000, 4_500_000),
        (40, 10, 300_000, 4_500_000),  # at once; the switch keeps what comes faster than it leaves
        (10, 40, 3_300_000, 4_500_000),  # when the rest comes in time; both links end together
        (40, 40, 300_000, 1_500_000),
    ],
)
@pytest.mark.parametrize("name", ["broadcast", "reduce"])
def test_a_chunk_passes_between_links_of_two_speeds(
    name: str, first: int, second: int, leaves_ps: int, time_ps: int
) -> None:
    links = [(0, 2, 300, first), (1, 2, 300, first), (2, 0, 200, second), (2, 1, 200, second)]
    problem = Problem(LinkGraph.of(2, 3, links), Collective(name, 2), Fraction(40_000), CUT)
    found = synthesize(problem, effort=QUICK)
    assert found.schedule.start_ps.tolist() == [0, leaves_ps]
    assert (found.time_ps, found.bound_ps) == (time_ps, time_ps)
    assert check(found.schedule).is_valid
    early = Schedule.of(problem, found.schedule.link, found.schedule.chunk, np.array([0, leaves_ps - 1]))
    assert [violation.rule for violation in check(early).violations if name == "broadcast"] in ([3], [])


def test_a_switch_waits_for_its_fastest_link_whichever_comes_next() -> None:
    """From a link of 10 GB/s to another past a switch with one of 40: 3 us of the 4 are there first."""
    links = [(npu, 3, 300, (10, 10, 40)[npu]) for npu in range(3)]
    graph = LinkGraph.of(3, 4, [*links, *((b, a, latency, w) for a, b, latency, w in links)])
    problem = Problem(graph, Collective("broadcast", 3), Fraction(40_000), CUT)
    found = synthesize(problem, effort=QUICK)
    assert (found.time_ps, found.bound_ps) == (7_600_000, 7_600_000)
    stored = replace(problem, model=LinkModel())
    assert synthesize(stored, effort=QUICK).time_ps == 8_600_000


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["all_gather", "broadcast", "scatter", "all_to_all"]))
def test_no_link_runs_dry(seed: int, collective: str) -> None:
    """Of a chunk that leaves a switch, every byte has come before."""
    graph = of_several_speeds(switched(seed), seed)
    problem = problem_on(graph, collective)
    found = synthesize(problem, "fast", QUICK).schedule
    columns = (found.link.tolist(), found.chunk.tolist(), found.start_ps.tolist())
    spans = [
        (int(graph.sources[link]), int(graph.destinations[link]), chunk, at, int(problem.held_ps[link]), link)
        for link, chunk, at in zip(*columns, strict=True)
    ]
    for source, _, chunk, start, held, _ in spans:
        if source < graph.npus:
            continue
        assert any(
            begins <= start and begins + serial <= start + held
            for begins, serial in (
                (at + int(graph.kinds[int(graph.kind_of[link])].latency_ns * 1000), serial)
                for _, to, other, at, serial, link in spans
                if (to, other) == (source, chunk)
            )
        )


@pytest.mark.parametrize(
    ("switches", "time_ps"),
    [  # latencies and the bytes once; stored, the bytes once per link
        (1, 900_000 + SERIAL),
        (2, 1_800_000 + SERIAL),
        (3, 3_000_000 + SERIAL),
    ],
)
def test_a_chunk_crosses_any_number_of_switches_for_its_bytes_once(switches: int, time_ps: int) -> None:
    graph = line_of_switches(switches)
    cut = synthesize(problem_on(graph, "broadcast"), effort=QUICK)
    assert (cut.time_ps, cut.bound_ps) == (time_ps, time_ps)
    assert check(cut.schedule).is_valid
    stored = synthesize(problem_on(graph, "broadcast", LinkModel()), effort=QUICK)
    assert stored.time_ps == time_ps + switches * SERIAL


def test_times_are_floored_once_in_each_unit() -> None:
    """1000 bytes at 7 GB/s: 142857.14 ps; with 2^30 bytes a GB 133046.98 ps, with whole ns 142."""
    graph = LinkGraph.of(2, 3, [(0, 2, 5, 7), (2, 1, 3, 7), (1, 2, 5, 7), (2, 0, 3, 7)])
    for model, time_ps in (
        (CUT, 8_000 + 142_857),
        (CUT._replace(gb="gib"), 8_000 + 133_046),
        (CUT._replace(clock="ns"), 8_000 + 142_000),
        (CUT._replace(occupancy="bandwidth"), 8_000 + 142_857),
    ):
        problem = Problem(graph, Collective("broadcast", 2), Fraction(1000), model)
        found = synthesize(problem, effort=QUICK)
        assert (found.time_ps, found.is_optimal) == (time_ps, True)
        assert check(found.schedule).is_valid


@pytest.mark.parametrize("npus", [2, 4, 7])
def test_all_to_all_through_a_star_is_optimal_by_hand(npus: int) -> None:
    """The port of an NPU carries N - 1 chunks one behind the other; the last has two latencies to go."""
    found = synthesize(problem_on(star(npus), "all_to_all"), effort=QUICK)
    assert found.time_ps == (npus - 1) * SERIAL + 2 * LATENCY
    assert found.is_optimal
    assert check(found.schedule).is_valid


def test_the_exact_search_alone_proves_an_optimum_that_restarts_miss() -> None:
    """Each of two chunks for three NPUs is on time only if none of them waits for another in a switch."""
    problem = problem_on(switched(16), "scatter", k=2)
    missed = synthesize(problem, "restarts", Effort(trials=4))
    found = synthesize(problem, "exact", Effort(time_limit_s=20))
    assert check(found.schedule).is_valid
    assert (found.time_ps, found.bound_ps) == (46_064_480, 46_064_480)
    assert missed.time_ps > found.time_ps


def sends(*rows: tuple[int, int, int, int, int]) -> SendTable:
    columns = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]
    return SendTable(*columns, np.zeros(len(rows), dtype=np.bool_))


HEAD, TAIL = LATENCY, LATENCY + SERIAL


@pytest.mark.parametrize(
    ("rows", "rule", "text"),
    [
        # NPU 0 scatters chunks 1 and 2 through switch 3: (from, to, chunk, start, end)
        (
            [(0, 3, 1, 0, HEAD), (0, 3, 2, SERIAL - 1, SERIAL - 1 + HEAD)],
            2,
            "the link is busy until 20971520",
        ),
        ([(0, 3, 1, 0, HEAD), (3, 1, 1, HEAD - 1, HEAD - 1 + TAIL)], 3, "the chunk comes at 500000 ps"),
        ([(0, 3, 1, 0, TAIL)], 1, "it takes 21471520 ps, its link takes 500000 ps"),
        (
            [(0, 3, 1, 0, HEAD), (3, 1, 1, HEAD, 2 * HEAD)],
            1,
            "it takes 500000 ps, its link takes 21471520 ps",
        ),
    ],
)
def test_the_checker_refuses(rows: list[tuple[int, int, int, int, int]], rule: int, text: str) -> None:
    verdict = check_sends(problem_on(star(3), "scatter"), sends(*rows))
    first = next(found for found in verdict.violations if found.rule == rule)
    assert text in first.text


def test_two_chunks_for_one_npu_may_not_hold_its_port_at_once() -> None:
    """NPUs 1 and 2 send to NPU 0 at once: the second chunk must wait in the switch for the first."""
    into = [(1, 3, 1, 0, HEAD), (2, 3, 2, 0, HEAD)]
    problem = problem_on(star(3), "gather")
    second = HEAD + SERIAL
    good = sends(*into, (3, 0, 1, HEAD, HEAD + TAIL), (3, 0, 2, second, second + TAIL))
    assert check_sends(problem, good).is_valid
    early = sends(*into, (3, 0, 1, HEAD, HEAD + TAIL), (3, 0, 2, second - 1, second - 1 + TAIL))
    verdict = check_sends(problem, early)
    assert [found.rule for found in verdict.violations] == [2]


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(COLLECTIVES),
    st.sampled_from(["total", "bandwidth"]),
    st.sampled_from(["ps", "ns"]),
    st.integers(1, 2),
    st.booleans(),
)
def test_every_result_is_valid_above_its_bounds_and_not_above_fixed_algorithms(
    seed: int, collective: str, occupancy: str, clock: str, k: int, mixed: bool
) -> None:
    graph = of_several_speeds(switched(seed), seed) if mixed else switched(seed)
    model = CUT._replace(occupancy=occupancy, clock=clock)
    problem = problem_on(graph, collective, model, k, graph.npus - 1)

    found = synthesize(problem, "auto", Effort(seed=seed, trials=2, time_limit_s=0.3))

    assert check(found.schedule).is_valid
    assert all(bound.time_ps <= found.time_ps for bound in found.bounds)
    assert found.time_ps <= min(found.fixed.values())
    replayed = Replay(found.schedule).times_ps()
    assert replayed.tolist() <= [found.time_ps]
    assert check(compacted(found.schedule)).is_valid


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([name for name in COLLECTIVES if name != "all_reduce"]),
    st.sampled_from(["total", "bandwidth"]),
    st.booleans(),
)
def test_a_schedule_of_stored_chunks_is_one_that_cuts_through_and_becomes_no_slower(
    seed: int, collective: str, occupancy: str, mixed: bool
) -> None:
    """But for all-reduces: two NPUs that exchange sums need both to leave before one arrives."""
    stored_model = LinkModel(occupancy=occupancy)
    graph = of_several_speeds(switched(seed), seed) if mixed else switched(seed)
    problem = problem_on(graph, collective, stored_model)
    stored = synthesize(problem, "restarts", QUICK, compare=False).schedule

    cut_problem = replace(problem, model=stored_model._replace(forwarding="cut_through"))
    cut = Schedule.of(cut_problem, stored.link, stored.chunk, stored.start_ps, stored.reduce)

    assert check(cut).is_valid
    tight = tightened(cut)
    assert check(tight).is_valid
    assert tight.time_ps <= cut.time_ps <= stored.time_ps


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["all_gather", "broadcast", "scatter"]), st.booleans())
def test_schedules_run_backwards_take_as_long_and_are_valid(seed: int, collective: str, mixed: bool) -> None:
    backwards = {"all_gather": "reduce_scatter", "broadcast": "reduce", "scatter": "gather"}
    graph = of_several_speeds(switched(seed), seed) if mixed else switched(seed)
    other = problem_on(graph, backwards[collective])
    assert other.mirrored.collective.name == collective
    forward = synthesize(other.mirrored, "restarts", QUICK, compare=False)
    turned = synthesize(other, "restarts", QUICK, compare=False)
    assert (
        faults(other.mirrored, (forward.schedule.link, forward.schedule.chunk, forward.schedule.start_ps))
        == []
    )
    assert check(turned.schedule).is_valid
    assert turned.time_ps == forward.time_ps
    assert turned.bound_ps == forward.bound_ps


@pytest.mark.parametrize(
    "synthesizer", ["greedy", "arrival", "restarts", "beam", "improve", "exact", "trees"]
)
def test_every_synthesizer_takes_switches_that_cut_through(synthesizer: str) -> None:
    graph = switched(3)
    found = synthesize(problem_on(graph, "all_gather", k=4), synthesizer, Effort(trials=2, time_limit_s=3))
    assert check(found.schedule).is_valid
    assert found.bound_ps <= found.time_ps


def test_more_switches_lose_less_by_cutting_through() -> None:
    """The same seed, stored and cut through: an all-gather of pairs behind three switches in a row."""
    links = [(npu, 6 + npu // 2, 500, 50) for npu in range(6)] + [(6, 7, 500, 50), (7, 8, 500, 50)]
    graph = LinkGraph.of(6, 9, [*links, *((b, a, latency, w) for a, b, latency, w in links)])
    stored, cut = (
        synthesize(problem_on(graph, "all_gather", model), "auto", Effort(trials=4, time_limit_s=5))
        for model in (LinkModel(), CUT)
    )
    assert check(cut.schedule).is_valid
    # five chunks into each NPU, the last behind it by the way of its first bytes
    assert cut.time_ps < stored.time_ps
    assert cut.best_fixed is not None
    assert cut.fixed[cut.best_fixed] < stored.fixed[cut.best_fixed]


def test_a_link_that_fails_at_the_start_is_repaired_and_what_would_be_wrong_is_refused() -> None:
    links = [(npu, 4 + side, 500, 50) for npu in range(4) for side in (0, 1)]
    graph = LinkGraph.of(4, 6, [*links, *((b, a, latency, w) for a, b, latency, w in links)])
    schedule = synthesize(problem_on(graph, "all_gather"), "restarts", QUICK, compare=False).schedule
    failure = Failure.of(graph, [(0, 4), (4, 0)])
    found = repair(schedule, failure, QUICK)
    for made in (found.repaired, found.anew):
        assert check(made).is_valid
    with pytest.raises(InputError, match="failed_at_us does not go with forwarding=cut_through"):
        repair(schedule, replace(failure, at_ps=10**6), QUICK)
    with pytest.raises(InputError, match="variance does not go with forwarding=cut_through"):
        spread(schedule, Variance(bandwidth_cv=0.1), 2)
    with pytest.raises(InputError, match="known for forwarding=stored only"):
        curve(schedule)


@pytest.mark.parametrize(
    ("npus", "links", "model", "message"),
    [
        (2, [(0, 1, 500, 50), (1, 0, 500, 50)], CUT, "has no effect without switches"),
        (2, [(0, 2, 500, 50), (2, 1, 0, 50)], CUT, "latencies of 1 ps or more at switches"),
        (2, [(0, 2, Fraction("0.5"), 50), (2, 1, 3, 50)], CUT._replace(clock="ns"), "a link of 0.5 ns"),
    ],
)
def test_networks_whose_times_would_not_be_exact_are_refused(
    npus: int, links: list[tuple[int, int, int, int]], model: LinkModel, message: str
) -> None:
    graph = LinkGraph.of(npus, 1 + max(max(a, b) for a, b, *_ in links), links)
    with pytest.raises(InputError, match=message):
        problem_on(graph, "broadcast", model)
