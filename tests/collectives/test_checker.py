"""Every rule of a schedule is checked, and what breaks it is named."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.collectives import Collective, LinkModel, Problem, Schedule
from dse.collectives.check.checker import check, check_sends
from dse.collectives.problem.recorded_sends import SendTable
from dse.inputs.networks import LinkGraph


def ring(npus: int, latency: int = 0, bandwidth: int = 1) -> LinkGraph:
    return LinkGraph.of(npus, npus, [(i, (i + 1) % npus, latency, bandwidth) for i in range(npus)])


def problem(
    graph: LinkGraph, name: str, size: int = 1000, model: LinkModel | None = None, k: int = 1
) -> Problem:
    return Problem(graph, Collective(name, graph.npus, k), Fraction(size), model or LinkModel())


def ring_all_gather(npus: int, k: int = 1, size: int = 1000) -> Schedule:
    """Each NPU passes on what came last; a chunk takes 1 us."""
    sends = [
        (i, j * npus + (i - step) % npus, step * k + j)
        for step in range(npus - 1)
        for j in range(k)
        for i in range(npus)
    ]
    link, chunk, turn = np.array(sends).T
    return Schedule.of(
        problem(ring(npus), "all_gather", size, k=k),
        link.astype(np.int32),
        chunk.astype(np.int32),
        turn * size * 1000,
    )


def table(*sends: tuple[int, int, int, int, int, bool]) -> SendTable:
    columns = list(zip(*sends, strict=True))
    return SendTable(*(np.array(c, dtype=np.int64) for c in columns[:5]), np.array(columns[5], dtype=bool))


@given(st.integers(2, 9), st.integers(1, 3))
def test_a_ring_all_gather_is_valid_and_its_mirror_a_valid_reduce_scatter(npus: int, k: int) -> None:
    schedule = ring_all_gather(npus, k)
    verdict = check(schedule)
    assert verdict.is_valid
    assert verdict.time_ps == (npus - 1) * k * 1_000_000
    turned = problem(ring(npus).transposed, "reduce_scatter", k=k)
    assert check(schedule.mirrored(turned)).is_valid


@given(st.integers(3, 8), st.data())
def test_without_any_one_send_it_is_invalid(npus: int, data: st.DataObject) -> None:
    schedule = ring_all_gather(npus)
    kept = np.arange(len(schedule)) != data.draw(st.integers(0, len(schedule) - 1))
    for less in (
        Schedule.of(schedule.problem, schedule.link[kept], schedule.chunk[kept], schedule.start_ps[kept]),
        Schedule.of(
            problem(ring(npus).transposed, "reduce_scatter"),
            schedule.link[kept],
            schedule.chunk[kept],
            schedule.time_ps - schedule.end_ps[kept],
            True,
        ),
    ):
        assert not check(less).is_valid


@pytest.mark.parametrize(
    ("sends", "rule", "numbers", "text"),
    [
        ([(0, 2, 0, 0, 1000000, False)], 1, (0,), "0 -> 2, chunk 0, 0 to 1000000 ps: there is no such link"),
        ([(0, 7, 0, 0, 1000000, False)], 1, (0,), "there is no such link"),
        ([(0, 1, 3, 0, 1000000, False)], 1, (0,), "there is no such chunk, only 0 to 2"),
        ([(0, 1, 0, -1, 999999, False)], 1, (0,), "it starts before 0"),
        ([(0, 1, 0, 0, 999999, False)], 1, (0,), "it takes 999999 ps, its link takes 1000000 ps"),
        (
            [(0, 1, 0, 0, 1000000, False), (0, 1, 0, 999999, 1999999, False)],
            2,
            (1, 0),
            "the link is busy until 1000000 ps (send 0 -> 1, chunk 0, 0 to 1000000 ps)",
        ),
        ([(1, 2, 0, 5, 1000005, False)], 3, (0,), "1 never has the chunk"),
        (
            [(0, 1, 0, 0, 1000000, False), (1, 2, 0, 999999, 1999999, False)],
            3,
            (1, 0),
            "the chunk comes at 1000000 ps (send 0 -> 1, chunk 0, 0 to 1000000 ps)",
        ),
        ([(0, 1, 0, 0, 1000000, True)], 5, (0,), "`reduce` in all_gather, which adds nothing"),
    ],
)
def test_the_first_violation_names_rule_and_sends(
    sends: list[tuple[int, int, int, int, int, bool]], rule: int, numbers: tuple[int, ...], text: str
) -> None:
    first = check_sends(problem(ring(3), "all_gather"), table(*sends)).violations[0]
    assert (first.rule, first.sends) == (rule, numbers)
    assert text in first.text


def test_what_is_missing_at_the_end_is_named() -> None:
    verdict = check_sends(problem(ring(3), "all_gather"), table((0, 1, 0, 0, 1000000, False)), most=2)
    assert verdict.count == 5
    assert [v.text for v in verdict.violations] == ["NPU 0 never gets chunk 1", "NPU 0 never gets chunk 2"]


def test_sums_take_each_contribution_once_and_only_whole_ones_are_copied() -> None:
    asked = problem(ring(3), "reduce")
    good = table((1, 2, 0, 0, 1000000, True), (2, 0, 0, 1000000, 2000000, True))
    assert check_sends(asked, good).is_valid
    early = table((1, 2, 0, 0, 1000000, True), (2, 0, 0, 999999, 1999999, True))
    assert [v.text for v in check_sends(asked, early).violations] == [
        "NPU 0 ends with chunk 0 without the contribution of NPU 1"
    ]
    twice = table((1, 2, 0, 0, 1000000, True), (1, 2, 0, 1000000, 2000000, True))
    assert "the contribution of NPU 1 is added twice" in check_sends(asked, twice).violations[0].text
    copied = table((1, 2, 0, 0, 1000000, False))
    assert (
        "it copies a sum without the contribution of NPU 0" in check_sends(asked, copied).violations[0].text
    )


def test_an_exchange_of_partial_sums_is_a_valid_all_reduce() -> None:
    pair = LinkGraph.of(2, 2, [(0, 1, 0, 1), (1, 0, 0, 1)])
    swap = table(*((s, 1 - s, c, c * 10**6, (c + 1) * 10**6, True) for s in (0, 1) for c in (0, 1)))
    assert check_sends(problem(pair, "all_reduce"), swap).is_valid


def test_a_switch_adds_nothing_of_its_own_and_passes_on() -> None:
    star = LinkGraph.of(2, 3, [(0, 2, 0, 1), (2, 1, 0, 1)])
    asked = problem(star, "broadcast")
    assert check_sends(asked, table((0, 2, 0, 0, 10**6, False), (2, 1, 0, 10**6, 2 * 10**6, False))).is_valid
    nothing = table((2, 1, 0, 0, 10**6, True))
    reduce = Problem(star, Collective("reduce", 2, root=1), Fraction(1000))
    assert "2 has nothing of the chunk then" in check_sends(reduce, nothing).violations[0].text


@pytest.mark.parametrize(
    ("model", "latency", "arrival", "second"),
    [
        (LinkModel(), "500", 21471520, 21471520),
        (LinkModel(gb="gib"), "500", 20031250, 20031250),
        (LinkModel(occupancy="bandwidth"), "500", 21471520, 20971520),
        (LinkModel("gib", "bandwidth", "ns"), "500", 20031000, 19531000),
        (LinkModel(), "0.0015", 20971521, 20971521),
    ],
)
def test_times_of_the_specification_are_exact(
    model: LinkModel, latency: str, arrival: int, second: int
) -> None:
    graph = LinkGraph.of(2, 2, [(0, 1, Fraction(latency), 50), (1, 0, Fraction(latency), 50)])
    asked = Problem(graph, Collective("broadcast", 2, 2), Fraction(1048576), model)
    good = table((0, 1, 0, 0, arrival, False), (0, 1, 1, second, second + arrival, False))
    assert check_sends(asked, good).is_valid
    too_soon = table((0, 1, 0, 0, arrival, False), (0, 1, 1, second - 1, second - 1 + arrival, False))
    assert [v.rule for v in check_sends(asked, too_soon).violations] == [2]


def test_custom_conditions_decide_what_is_wanted() -> None:
    custom = Collective("custom", 3, preconditions=((0, 0), (1, 1)), postconditions=((2, 1), (1, 0)))
    asked = Problem(ring(3), custom, Fraction(1000))
    good = table((0, 1, 0, 0, 10**6, False), (1, 2, 1, 0, 10**6, False))
    assert check_sends(asked, good).is_valid
    assert (
        check_sends(asked, table((0, 1, 0, 0, 10**6, False))).violations[0].text == "NPU 2 never gets chunk 1"
    )


@pytest.mark.parametrize("node", [-1, 99, 2**32])
def test_a_sum_that_ends_at_no_node_breaks_a_rule(node: int) -> None:
    asked = problem(ring(3), "all_reduce")
    verdict = check_sends(asked, table((0, node, 0, 0, 1_000_000, True)))
    assert not verdict.is_valid
    assert f"0 -> {node}" in verdict.violations[0].text
