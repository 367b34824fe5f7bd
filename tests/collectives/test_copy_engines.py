"""NPUs that send and receive over few links at once: in searches, bounds, checks and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.collectives import COLLECTIVES, Collective, Problem, Schedule
from dse.collectives.bounds import best_bound
from dse.collectives.check.checker import check
from dse.collectives.files.content import problem_of_json, problem_to_json
from dse.collectives.problem.problem import DEFAULT_MODEL, LinkModel
from dse.collectives.problem.settings import network_of
from dse.collectives.search.reductions import tightened
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.commands.synthesize import main as synthesize_command
from dse.inputs.networks import LinkGraph
from dse.inputs.networks.csv import read_link_graph
from tests.collectives.link_graphs import random_graph, star
from tests.collectives.steps import can_end_by

ROUND_PS = 1_000_000
QUICK = Effort(trials=3)


def full_mesh(npus: int) -> LinkGraph:
    """Links between all NPUs, over each of which a chunk of 1000 bytes takes 1 us."""
    pairs = [(i, j) for i in range(npus) for j in range(npus) if i != j]
    return LinkGraph.of(npus, npus, [(i, j, 0, 1) for i, j in pairs])


def limited(graph: LinkGraph, sends: int = 0, receives: int = 0) -> LinkGraph:
    """The graph of which every NPU has so many engines; 0: no limit."""
    of_all = [tuple((npu, most) for npu in range(graph.npus)) if most else () for most in (sends, receives)]
    return replace(graph, max_sends=of_all[0], max_receives=of_all[1])


def problem_on(graph: LinkGraph, name: str, model: LinkModel = DEFAULT_MODEL) -> Problem:
    return Problem(graph, Collective(name, graph.npus), Fraction(1000), model)


def most_driven(schedule: Schedule, npu: int, *, receives: bool) -> int:
    """Over how many links an NPU sends, or receives, at once: counted at the start of each send."""
    problem, graph = schedule.problem, schedule.problem.graph
    spans = []
    for link, start in zip(schedule.link.tolist(), schedule.start_ps.tolist(), strict=True):
        held, passed = int(problem.held_ps[link]), int(problem.passed_ps[link])
        ends = graph.destinations if receives else graph.sources
        begin = start + passed - held if receives else start
        if ends[link] == npu and held:
            spans.append((begin, begin + held))
    return max((sum(b <= begin < e for b, e in spans) for begin, _ in spans), default=0)


@pytest.mark.parametrize(
    ("name", "sends", "receives", "rounds"),
    [
        ("all_gather", 1, 0, 3),
        ("all_gather", 0, 1, 3),
        ("all_gather", 1, 1, 3),
        ("all_gather", 2, 0, 2),
        ("broadcast", 1, 0, 2),  # twice as many have it after each round
        ("broadcast", 0, 1, 1),
        ("reduce", 1, 0, 1),
        ("reduce", 0, 1, 2),
        ("scatter", 1, 0, 3),
        ("gather", 1, 0, 1),
        ("gather", 0, 2, 2),
        ("all_to_all", 1, 1, 3),
        ("reduce_scatter", 1, 1, 3),
        ("all_reduce", 1, 1, 6),
    ],
)
def test_a_full_mesh_of_four_takes_as_many_rounds(name: str, sends: int, receives: int, rounds: int) -> None:
    found = synthesize(problem_on(limited(full_mesh(4), sends, receives), name), "auto", QUICK)
    assert found.time_ps == rounds * ROUND_PS
    assert found.bound_ps == rounds * ROUND_PS
    assert check(found.schedule).is_valid


def test_one_npu_alone_can_have_a_limit() -> None:
    graph = replace(full_mesh(4), max_sends=((0, 1),))
    assert synthesize(problem_on(graph, "scatter"), "auto", QUICK).time_ps == 3 * ROUND_PS
    assert synthesize(problem_on(graph, "gather"), "auto", QUICK).time_ps == ROUND_PS
    assert best_bound(problem_on(graph, "scatter")).text == (
        "3 chunks have to leave NPU 0, which sends over 1 link at once"
    )


def test_engines_are_not_wasted_on_slow_links() -> None:
    ring = [(i, (i + 1) % 3, 0, 1) for i in range(3)]
    slow = [((i + 1) % 3, i, 0, Fraction(1, 10)) for i in range(3)]
    graph = limited(LinkGraph.of(3, 3, ring + slow), sends=1)
    found = synthesize(problem_on(graph, "all_gather"), "auto", QUICK)
    assert found.time_ps == found.bound_ps == 2 * ROUND_PS


def test_a_receiver_is_busy_while_bytes_arrive_not_while_they_travel() -> None:
    model = LinkModel(occupancy="bandwidth")
    graph = LinkGraph.of(3, 3, [(1, 0, 2000, 1), (2, 0, 0, 1), (0, 1, 0, 1), (0, 2, 0, 1)])
    graph = replace(graph, max_receives=((0, 1),))
    found = synthesize(problem_on(graph, "gather", model), "auto", QUICK)
    assert found.time_ps == 3 * ROUND_PS
    assert found.schedule.start_ps.tolist() == [0, 0]


def test_the_check_names_the_npu_that_drives_too_many_links() -> None:
    graph = limited(full_mesh(3), sends=1)
    free = synthesize(problem_on(graph.without_engines, "all_gather"), "auto", QUICK).schedule
    within = Schedule.of(problem_on(graph, "all_gather"), free.link, free.chunk, free.start_ps)
    verdict = check(within)
    assert verdict.count == 3
    assert {violation.rule for violation in verdict.violations} == {2}
    assert "NPU 0 sends over more than 1 link at once" in verdict.violations[0].text
    assert check(tightened(within)).is_valid


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(COLLECTIVES),
    st.integers(0, 2),
    st.integers(0, 2),
    st.sampled_from(["total", "bandwidth"]),
    st.booleans(),
)
def test_every_schedule_keeps_to_the_limits_and_to_its_bounds(
    seed: int, name: str, sends: int, receives: int, occupancy: str, switched: bool
) -> None:
    model = DEFAULT_MODEL._replace(occupancy=occupancy)
    graph = limited(star(4) if switched else random_graph(seed), sends, receives)
    found = synthesize(problem_on(graph, name, model), "fast", Effort(seed=seed, trials=2))
    assert check(found.schedule).is_valid
    assert found.bound_ps <= found.time_ps
    assert not graph.has_engines or found.time_ps <= min(found.fixed.values())
    for npu in range(graph.npus):
        assert not sends or most_driven(found.schedule, npu, receives=False) <= sends
        assert not receives or most_driven(found.schedule, npu, receives=True) <= receives


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(COLLECTIVES))
def test_limits_that_no_npu_reaches_change_nothing(seed: int, name: str) -> None:
    free = network_of({"topology": "fc__n=4"}, None).graph
    same = network_of({"topology": "fc__n=4", "max_sends": "3", "max_receives": "7"}, None).graph
    assert same.digest == free.digest
    effort = Effort(seed=seed, trials=2)
    made, other = (synthesize(problem_on(graph, name), "auto", effort).schedule for graph in (free, same))
    assert made.start_ps.tolist() == other.start_ps.tolist()


def test_several_collectives_at_once_keep_to_the_limits() -> None:
    from dse.collectives.problem.collective import CUSTOM, Part

    graph = limited(full_mesh(4), sends=1)
    parts = (Part("all_gather", (0, 1), 1, 0), Part("all_reduce", (0, 1, 2, 3), 1, 0))
    problem = Problem(graph, Collective(CUSTOM, 4, parts=parts), Fraction(1000))
    found = synthesize(problem, "auto", QUICK, compare=False)
    assert check(found.schedule).is_valid
    assert found.alone_ps == (ROUND_PS, 6 * ROUND_PS)
    assert found.time_ps <= 7 * ROUND_PS


def test_limits_are_kept_in_files() -> None:
    problem = problem_on(replace(full_mesh(3), max_sends=((1, 1),)), "all_gather")
    read = problem_of_json(problem_to_json(problem), full_mesh(3))
    assert (read.graph.max_sends, read.graph.max_receives) == (((1, 1),), ())
    assert read.graph.digest == problem.graph.digest != full_mesh(3).digest
    assert problem.graph.transposed.max_receives == ((1, 1),)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"max_sends": "0"}, "max_sends is '0'; an NPU drives 1 link at once or more"),
        ({"max_sends": "few"}, "max_sends is 'few'; it must be a number for all NPUs, or such as {0:2,3:1}"),
        ({"max_receives": "{4:1}"}, "but node 4 is no NPU; NPUs are 0 to 3"),
        ({"max_receives": "{1:1,1:2}"}, "but node 1 is twice in it"),
    ],
)
def test_other_limits_are_refused(keys: Mapping[str, str], message: str) -> None:
    with pytest.raises(InputError) as error:
        network_of({"topology": "fc__n=4", **keys}, None)
    assert message in str(error.value)


@pytest.mark.parametrize("key", ["variance=cv=0.1", "failed_links=0-1", "export=[chakra]"])
def test_a_command_refuses_what_does_not_keep_to_limits(key: str) -> None:
    with pytest.raises(InputError, match="does not go with max_sends or max_receives"):
        synthesize_command(["topology=fc__n=4", "max_sends=1", key])


def test_a_summary_names_the_limits(capsys: pytest.CaptureFixture[str]) -> None:
    assert synthesize_command(["topology=fc__n=4", "max_sends={0:1,2:2}", "trials=2"]) == 0
    assert "12 links, at most 1 to 2 sends at once on 2 NPUs" in capsys.readouterr().out


def broadcast(graph: LinkGraph, chunks: int) -> Problem:
    return Problem(graph, Collective("broadcast", graph.npus, chunks), Fraction(1000))


def test_the_last_of_three_chunks_leaves_after_two_rounds_and_doubles_from_there() -> None:
    """The third chunk leaves NPU 0 at 2, and 1, 2, 4, 8 NPUs have it 0, 1, 2, 3 rounds later."""
    problem = broadcast(limited(full_mesh(8), 1), 3)
    bound = best_bound(problem)
    assert (bound.name, bound.time_ps) == ("spread", 5 * ROUND_PS)
    assert best_bound(broadcast(limited(full_mesh(8), 2), 5)).time_ps == 4 * ROUND_PS


def test_trees_that_are_made_within_the_limits_spread_faster_over_links_of_three_speeds() -> None:
    """Played within the limits, the trees that are made without them take 395 us."""
    path = Path(__file__).parents[1] / "golden" / "topologies" / "rfs_2_4_4_500_50.csv"
    graph = limited(read_link_graph(path), 1)
    problem = Problem(graph, Collective("broadcast", 32, 4), Fraction(1 << 20))
    made = synthesize(problem, "auto", QUICK, compare=False)
    assert made.synthesizer == "changes"
    assert made.time_ps < 310_000_000
    assert check(made.schedule).is_valid


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["broadcast", "reduce", "all_gather", "all_reduce"]), st.data())
def test_no_schedule_within_the_limits_ends_before_the_bound(
    seed: int, name: str, data: st.DataObject
) -> None:
    drawn = random_graph(seed, 4)
    ends = zip(drawn.sources.tolist(), drawn.destinations.tolist(), strict=True)
    few = list(ends)[:6]
    ring = [(npu, (npu + 1) % drawn.npus) for npu in range(drawn.npus)]
    graph = LinkGraph.of(drawn.npus, drawn.npus, [(*pair, 0, 1) for pair in sorted({*few, *ring})][:7])
    graph = limited(graph, data.draw(st.integers(0, 2)), data.draw(st.integers(0, 1)))
    chunks = data.draw(st.integers(1, 3)) if name in ("broadcast", "reduce") else 1
    if name == "all_reduce" and graph.npus > 3:
        return
    problem = Problem(graph, Collective(name, graph.npus, chunks), Fraction(1000))
    assert not can_end_by(problem, min(best_bound(problem).time_ps // ROUND_PS, 4) - 1)


@pytest.mark.parametrize("name", ["reduce_scatter", "gather", "reduce", "all_gather"])
@pytest.mark.parametrize("forwarding", ["stored", "cut_through"])
def test_limits_hold_past_a_switch_that_cannot_add(
    name: str, forwarding: Literal["stored", "cut_through"]
) -> None:
    links = [(2, 0, 50, 2), (0, 1, 2000, 2), (1, 2, 2000, 1), (1, 0, 2000, 2), (0, 1, 2000, 2)]
    graph = replace(LinkGraph.of(2, 3, links), cannot_add=frozenset({2}))
    graph = replace(graph, max_sends=((0, 1), (1, 1)), max_receives=((0, 1),))
    asked = Problem(graph, Collective(name, 2, 3), Fraction(1000), LinkModel(forwarding=forwarding))
    assert check(synthesize(asked, "auto", QUICK, compare=False).schedule).is_valid


def test_trees_of_chunks_keep_to_the_limits_of_npus_at_switches_that_cut_through() -> None:
    slow, fast, wide = (2000, 1), (50, 1), (50, 2)
    links = [
        (0, 2, *slow), (0, 4, *fast), (1, 4, *wide), (2, 0, *wide), (2, 3, *slow), (2, 7, *wide),
        (3, 2, *fast), (3, 4, *wide), (4, 0, *wide), (4, 1, *slow), (4, 3, *wide), (4, 7, *fast),
        (5, 7, *wide), (6, 7, *fast), (7, 2, *slow), (7, 4, *wide), (7, 5, *fast), (7, 6, *wide),
    ]  # fmt: skip
    graph = replace(LinkGraph.of(7, 8, links), max_sends=((4, 1),))
    model = LinkModel(forwarding="cut_through")
    asked = Problem(graph, Collective("all_to_all", 7, 2), Fraction(1 << 20), model)
    schedule = synthesize(asked, "auto", QUICK, compare=False).schedule
    assert check(schedule).is_valid
    assert most_driven(schedule, 4, receives=False) == 1
