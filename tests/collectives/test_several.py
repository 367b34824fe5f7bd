"""Several collectives at once: never slower than in turn, as simulated, by priority, above their bound."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import MIB, random_graph, replay, ring, torus

from dse.base.errors import InputError
from dse.collectives import Collective, LinkModel, Problem, Schedule
from dse.collectives.bounds import best_bound
from dse.collectives.check.checker import check
from dse.collectives.files.chakra import chakra_traces
from dse.collectives.files.chakra_run import chakra_time_ns
from dse.collectives.problem.collective import COLLECTIVES, CUSTOM, Part
from dse.collectives.problem.of_schedule import given_problem
from dse.collectives.problem.settings import network_of, problem_of
from dse.collectives.question import question_of, synthesized
from dse.collectives.search import overlap
from dse.collectives.search.several import several
from dse.collectives.search.synthesis import Result, made_by, synthesize
from dse.collectives.search.synthesizers.base import Effort, Synthesis
from dse.collectives.search.synthesizers.registry import make_synthesizer
from dse.inputs.networks import LinkGraph

ASTRASIM = LinkModel("gib", "bandwidth", "ns")


def at_once(graph: LinkGraph, *parts: Part, model: LinkModel = ASTRASIM) -> Problem:
    """Several collectives of chunks of 1 MiB."""
    return Problem(graph, Collective(CUSTOM, graph.npus, parts=parts), MIB, model)


def part_times_ps(schedule: Schedule) -> tuple[int, ...]:
    """When the last chunk of each collective has arrived."""
    return schedule.problem.collective.times_of_parts(schedule.chunk, schedule.end_ps)


def solved(problem: Problem, trials: int = 2, synthesizer: str = "fast") -> Result:
    return synthesize(problem, synthesizer, Effort(trials=trials))


@st.composite
def questions(draw: st.DrawFn, switches: int = 0) -> Problem:
    """Two to four collectives of any kind, group and priority on links of three kinds."""
    npus = draw(st.integers(3, 7))
    nodes = npus + draw(st.integers(0, switches))
    wired = random_graph(nodes, draw(st.integers(0, 8)), draw(st.integers(0, 999)))
    graph = LinkGraph(npus, nodes, wired.sources, wired.destinations, wired.kind_of, wired.kinds)
    parts = []
    for _ in range(draw(st.integers(2, 4))):
        group = draw(st.lists(st.integers(0, npus - 1), min_size=2, unique=True))
        root = draw(st.integers(0, len(group) - 1))
        name = draw(st.sampled_from(COLLECTIVES))
        parts.append(Part(name, tuple(group), draw(st.integers(1, 2)), root, draw(st.integers(0, 2))))
    return at_once(graph, *parts, model=draw(st.sampled_from([ASTRASIM, LinkModel()])))


@settings(max_examples=12, deadline=None)
@given(questions(switches=2))
def test_at_once_is_valid_above_its_bound_and_never_slower_than_one_after_the_other(problem: Problem) -> None:
    found = solved(problem)
    assert check(found.schedule).is_valid
    assert best_bound(problem).time_ps <= found.time_ps <= sum(found.alone_ps)
    assert max(part_times_ps(found.schedule)) == found.time_ps
    assert replay(found.schedule)[0] == found.time_ps


@settings(max_examples=15, deadline=None)
@given(questions())
def test_the_congestion_aware_simulation_of_all_takes_as_long(problem: Problem) -> None:
    problem = Problem(problem.graph, problem.collective, MIB, ASTRASIM)
    schedule = solved(problem).schedule
    assert chakra_time_ns(problem, list(chakra_traces(schedule))) * 1000 == schedule.time_ps


@settings(max_examples=12, deadline=None)
@given(questions())
def test_what_has_priority_takes_as_long_as_without_the_others(problem: Problem) -> None:
    parts = problem.collective.parts
    most = max(part.priority for part in parts)
    first = [place for place, part in enumerate(parts) if part.priority == most]
    found = solved(problem)
    times = [part_times_ps(found.schedule)[place] for place in first]

    if len(first) == 1:
        assert times == [found.alone_ps[first[0]]]
    else:
        undisturbed = at_once(problem.graph, *(parts[place] for place in first), model=problem.model)
        assert times == list(part_times_ps(solved(undisturbed).schedule))


def test_priority_decides_who_goes_first_over_a_shared_link() -> None:
    """Two broadcasts of one chunk, 1 us each, from NPU 0 to NPU 1."""
    graph = LinkGraph.of(2, 2, [(0, 1, 0, 1), (1, 0, 0, 1)])
    for priorities in ((0, 1), (1, 0)):
        parts = [Part("broadcast", (0, 1), priority=priority) for priority in priorities]
        problem = Problem(graph, Collective(CUSTOM, 2, parts=tuple(parts)), Fraction(1000))
        times = part_times_ps(solved(problem).schedule)
        assert times == ((2_000_000, 1_000_000) if priorities[1] else (1_000_000, 2_000_000))


def test_rings_in_both_directions_of_a_torus_share_no_link() -> None:
    """All rows gather and all columns reduce at once: as long as the slower one of them alone."""
    rows = [Part("all_gather", tuple(range(row * 4, row * 4 + 4)), 2) for row in range(4)]
    columns = [Part("reduce_scatter", tuple(range(column, 16, 4)), 2) for column in range(4)]
    found = solved(at_once(torus(4, 4), *rows, *columns), 5, "auto")
    assert found.time_ps <= 78_624_000
    assert sum(found.alone_ps) > 4 * found.time_ps


def test_rows_and_columns_of_a_torus_add_at_once_as_fast_as_links_allow() -> None:
    """Eight all-reduces of 24 messages fill 64 links three times; each NPU adds in two of them."""
    rows = [Part("all_reduce", tuple(range(row * 4, row * 4 + 4))) for row in range(4)]
    columns = [Part("all_reduce", tuple(range(column, 16, 4))) for column in range(4)]
    found = solved(at_once(torus(4, 4), *rows, *columns, model=LinkModel()), trials=20)
    assert found.is_optimal
    assert found.time_ps * 16 == sum(found.alone_ps) * 2
    assert check(found.schedule).is_valid


def test_groups_that_translations_lead_to_each_other_are_made_once() -> None:
    """The rows of a torus and its columns; the last group is no row."""
    rows = [Part("all_reduce", tuple(range(row * 3, row * 3 + 3)), 1) for row in range(4)]
    columns = [Part("scatter", tuple(range(column, 12, 3)), 2, 1) for column in range(3)]
    problem = at_once(torus(3, 4), *rows, *columns, Part("all_reduce", (0, 4, 8)))
    graph = problem.graph
    assert graph.translations is not None
    asked: list[Problem] = []

    def alone(own: Problem, effort: Effort) -> Synthesis:
        asked.append(own)
        return made_by(own, make_synthesizer("fast"), effort).synthesis

    found, alone_ps = several(problem, Effort(trials=1), alone)

    assert [own.collective.members for own in asked] == [(0, 1, 2), (0, 3, 6, 9), (0, 4, 8)]
    assert len(set(alone_ps[:4])) == len(set(alone_ps[4:7])) == 1
    assert check(found.schedule).is_valid
    assert found.schedule.time_ps <= sum(alone_ps)


def test_an_exact_search_of_the_same_copies_is_no_faster() -> None:
    """A broadcast and a gather that share links of a ring, as pre- and postconditions of one collective."""
    parts = (Part("broadcast", (0, 2, 3), 2), Part("gather", (1, 3, 0), 1, 2))
    together = solved(at_once(ring(4), *parts), 5, "auto")
    collective = together.schedule.problem.collective
    before, after = (
        tuple(zip(*(column.tolist() for column in pairs), strict=True))
        for pairs in (collective.holdings(), collective.wants())
    )
    own = Collective(CUSTOM, 4, preconditions=before, postconditions=after)
    exact = solved(Problem(ring(4), own, MIB, ASTRASIM), 5, "exact")
    assert exact.is_optimal
    assert together.time_ps == exact.time_ps


STEP: list[dict[str, Any]] = [
    {"collective": "all_reduce", "group": [0, 4], "operation_bytes": "16MiB"},
    {"collective": "all_gather", "group": [0, 1, 2, 3], "operation_bytes": "3MiB", "priority": 1},
]
RING = {"topology": "torus__dim=[8]__alpha=500__beta=50"}


def written(folder: Path, collectives: Any, **more: Any) -> dict[str, str]:
    """Keys that ask for several collectives of a file."""
    path = folder / "step.json"
    path.write_text(json.dumps({"collectives": collectives, **more}))
    return {**RING, "collective": str(path)}


def test_a_file_says_groups_sizes_and_priorities(tmp_path: Path) -> None:
    """An NPU has 8 MiB of the sums and 3 MiB to gather: chunks of 3 MiB, 3 and 1 each."""
    values = written(tmp_path, STEP)
    problem, size = problem_of(network_of(values, None), values)
    assert size == (Fraction(3 << 20), 19 << 20, 2 << 20)
    assert problem.collective.parts == (
        Part("all_reduce", (0, 4), 3),
        Part("all_gather", (0, 1, 2, 3), 1, 0, 1),
    )
    assert problem.collective.chunks == 6 + 4
    values["chunk_bytes"] = "1MiB"
    assert problem_of(network_of(values, None), values)[0].collective.firsts == (0, 16)


def test_the_summary_has_each_all_and_one_after_the_other_and_folders_are_read_again(tmp_path: Path) -> None:
    answer = synthesized(question_of({**written(tmp_path, STEP), "trials": "1"}, None))
    data = answer.data()
    assert data["collective"] == "several"
    assert [(own["collective"], own["chunks"]) for own in data["collectives"]] == [
        ("all_reduce", [0, 6]),
        ("all_gather", [6, 10]),
    ]
    assert max(own["time_ps"] for own in data["collectives"]) == data["time_ps"]
    assert data["one_after_the_other_ps"] == sum(own["alone_ps"] for own in data["collectives"])
    assert "all_gather among 0, 1, 2, 3, priority 1: " in answer.text()

    answer.write(tmp_path / "out")
    file, problem = given_problem(tmp_path / "out" / "schedule.jsonl", {}, None)
    assert problem.collective == answer.schedule.problem.collective
    assert check(file.sends.schedule(problem)).is_valid
    assert (tmp_path / "out" / "index.html").is_file()


@pytest.mark.parametrize(
    ("collectives", "message"),
    [
        (STEP[:1], "collectives is .*; it must be a list of at least 2 objects"),
        ([*STEP, {"collective": "sum"}], "collectives 3: collective is sum; allowed are all_gather"),
        ([*STEP, {"collective": "reduce", "group": [0, 0]}], "collectives 3: group lists an NPU twice"),
        ([*STEP, {"collective": "reduce", "group": [0, 8]}], "collectives 3: group is 8; it must be a whole"),
        ([*STEP, {"collective": "reduce", "group": [1, 2], "root": 0}], "root is 0; it must be one of"),
        ([*STEP, {"collective": "all_reduce", "root": 0}], "root has no effect on all_reduce"),
        ([*STEP, {"collective": "reduce", "priority": -1}], "priority is -1; it must be a whole number"),
        ([*STEP, {**STEP[0], "chunks_per_npu": 2}], "leave chunks_per_npu out"),
        ([*STEP, {**STEP[0], "size": 2}], "collectives 3: unknown key size; allowed are collective"),
        ([*STEP, {**STEP[0], "operation_bytes": "much"}], "operation_bytes"),
        ([*STEP, {**STEP[0], "operation_bytes": "9" * 5000}], "operation_bytes"),
    ],
)
def test_wrong_lists_are_one_line(tmp_path: Path, collectives: Any, message: str) -> None:
    values = written(tmp_path, collectives)
    with pytest.raises(InputError, match=message) as error:
        problem_of(network_of(values, None), values)
    assert "\n" not in str(error.value)


def test_links_do_not_fail_under_several_collectives(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="several collectives at once are not repaired"):
        question_of({**written(tmp_path, STEP), "failed_links": "0-1"}, None)


@pytest.mark.parametrize(("late", "sends_around"), [(False, {0, 12}), (True, {0})])
def test_a_time_limit_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool, sends_around: set[int]
) -> None:
    """When time is over, each is still made alone, and no trees around the sends of others are looked for.

    The clock leaps during the first search, or stands still: other load does not decide.
    """
    now_s, around = [0.0], set()

    def drawn(
        problem: Problem, effort: Effort, given: overlap.Given, exchange: bool = False
    ) -> Schedule | None:
        around.add(len(given.others))
        now_s[0] += 61 if late else 0
        return overlap.trees_drawn(problem, effort, given, exchange=exchange)

    monkeypatch.setattr("dse.base.cancellation.time", SimpleNamespace(monotonic=lambda: now_s[0]))
    monkeypatch.setattr("dse.collectives.search.several._LEAST_SECONDS", 60.0)
    monkeypatch.setattr("dse.collectives.search.several.trees_drawn", drawn)
    question = question_of({**written(tmp_path, STEP), "time_limit_s": "60"}, None)
    answer = synthesized(question)
    assert answer.time_ps <= answer.data()["one_after_the_other_ps"]
    assert around == sends_around
