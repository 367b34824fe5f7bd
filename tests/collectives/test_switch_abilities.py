"""Switches that cannot copy or add pass each message on by itself: in searches, bounds, checks and files."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.collectives import COLLECTIVES, Collective, Problem, Schedule
from dse.collectives.bounds import best_bound
from dse.collectives.check.checker import check
from dse.collectives.files.content import problem_of_json, problem_to_json
from dse.collectives.problem.settings import network_of
from dse.collectives.search.fixed_algorithms import fixed_algorithms
from dse.collectives.search.replay import Replay
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.commands.synthesize import main as synthesize_command
from dse.inputs.networks import LinkGraph
from dse.inputs.networks.csv import link_graph_csv
from tests.collectives.link_graphs import MIB, random_graph, star
from tests.collectives.messages import faults_of

HOP_PS = 21_471_520


def able(graph: LinkGraph, copies: Collection[int] = (), adds: Collection[int] = ()) -> LinkGraph:
    """The graph with those switches alone that copy or add."""
    switches = frozenset(range(graph.npus, graph.nodes))
    return replace(graph, cannot_copy=switches - set(copies), cannot_add=switches - set(adds))


def problem_on(graph: LinkGraph, name: str) -> Problem:
    return Problem(graph, Collective(name, graph.npus), Fraction(MIB))


def sends(problem: Problem, *rows: tuple[int, int, int, int, bool]) -> Schedule:
    """A schedule of (source, destination, chunk, start in hops, reduce)."""
    links = [problem.graph.number_of[row[0], row[1]] for row in rows]
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Schedule.of(
        problem,
        np.array(links, dtype=np.int32),
        columns[2].astype(np.int32),
        columns[3].astype(np.int64) * HOP_PS,
        columns[4].astype(np.bool_),
    )


def test_a_copy_in_a_switch_that_cannot_is_named_and_each_message_by_itself_is_valid() -> None:
    broadcast = problem_on(able(star(3)), "broadcast")
    once = sends(broadcast, (0, 3, 0, 0, False), (3, 1, 0, 1, False), (3, 2, 0, 1, False))
    verdict = check(once)
    assert [violation.rule for violation in verdict.violations] == [6]
    assert "switch 3 cannot copy" in verdict.violations[0].text
    assert check(Schedule.of(problem_on(star(3), "broadcast"), once.link, once.chunk, once.start_ps)).is_valid
    twice = sends(
        broadcast, (0, 3, 0, 0, False), (0, 3, 0, 1, False), (3, 1, 0, 1, False), (3, 2, 0, 2, False)
    )
    assert check(twice).is_valid
    early = sends(
        broadcast, (0, 3, 0, 0, False), (0, 3, 0, 1, False), (3, 1, 0, 1, False), (3, 2, 0, 1, False)
    )
    assert [violation.rule for violation in check(early).violations] == [6]


def test_a_sum_in_a_switch_that_cannot_add_is_named() -> None:
    added = (1, 3, 0, 0, True), (2, 3, 0, 0, True), (3, 0, 0, 1, True)
    problem = problem_on(star(3), "reduce")
    assert check(sends(problem, *added)).is_valid
    verdict = check(sends(replace(problem, graph=able(star(3), copies=[3])), *added))
    assert {violation.rule for violation in verdict.violations} == {4}
    passed = check(sends(replace(problem, graph=able(star(3))), *added, (3, 0, 0, 2, True)))
    assert passed.is_valid


def test_a_sum_leaves_a_switch_that_adds_and_cannot_copy_once() -> None:
    """Then it goes on from an NPU to the others, through the switch, one by one."""
    graph = able(star(3), adds=[3])
    up = [(npu, 3, 0, 0, True) for npu in range(3)]
    down = [(3, 0, 0, 1, False), (0, 3, 0, 2, False), (3, 1, 0, 3, False), (0, 3, 0, 3, False)]
    problem = Problem(graph, Collective("all_reduce", 3), Fraction(MIB))
    rows = [(a, b, 0, start, reduce) for a, b, _, start, reduce in [*up, *down, (3, 2, 0, 4, False)]]
    valid = check(sends(problem, *rows))
    assert not any(violation.rule in (3, 5, 6) for violation in valid.violations)
    copied = check(sends(problem, *rows, (3, 1, 0, 1, False)))
    assert any(violation.rule == 6 for violation in copied.violations)


def test_a_switch_that_adds_among_others_that_do_not_adds_each_contribution_once() -> None:
    problem = problem_on(able(random_graph(3023, 5, 3), adds=[7]), "reduce")
    result = synthesize(problem, "fast", Effort(trials=3), compare=False)
    assert check(result.schedule).is_valid
    assert result.time_ps == result.bound_ps == 1_070_547_520


@given(st.integers(0, 10**6), st.sampled_from(COLLECTIVES), st.data())
def test_searches_keep_to_abilities_and_bounds_hold(seed: int, name: str, data: st.DataObject) -> None:
    graph = random_graph(seed, 5, 3)
    assume(graph.nodes > graph.npus)
    some = st.sets(st.integers(graph.npus, graph.nodes - 1))
    problem = problem_on(able(graph, data.draw(some), data.draw(some)), name)
    result = synthesize(problem, "fast", Effort(trials=3), compare=False)
    assert faults_of(result.schedule) == []
    assert check(result.schedule).is_valid
    assert result.time_ps >= result.bound_ps
    if name != "all_reduce":
        assert Replay(result.schedule).times_ps()[0] <= result.time_ps


@given(st.integers(0, 10**6), st.sampled_from(COLLECTIVES), st.integers(0, 10**6))
def test_the_check_finds_what_messages_played_one_by_one_find(seed: int, name: str, break_seed: int) -> None:
    """Whatever is wrong: schedules of switches that can do more, and such as lack a send or start early."""
    graph = random_graph(seed, 5, 3)
    assume(graph.nodes > graph.npus)
    made = synthesize(problem_on(graph, name), "fast", Effort(trials=1), compare=False).schedule
    assume(len(made))
    random = np.random.default_rng(break_seed)
    switches = range(graph.npus, graph.nodes)
    chosen = [[switch for switch in switches if random.random() < 0.5] for _ in range(2)]
    start = made.start_ps.copy()
    if random.random() < 0.5:
        start[random.integers(len(made))] += int(random.integers(-2, 3)) * 1000
    start = np.maximum(start, 0)
    problem = problem_on(able(graph, *chosen), name)
    schedule = Schedule.of(problem, made.link, made.chunk, start, made.reduce)
    assert check(schedule).is_valid == (faults_of(schedule) == [])


def test_fixed_algorithms_pass_switches_that_cannot_copy() -> None:
    for name in COLLECTIVES:
        for schedule in fixed_algorithms(problem_on(able(star(6)), name)).schedules.values():
            assert faults_of(schedule) == []
            assert check(schedule).is_valid


def test_an_all_reduce_through_a_passive_switch_enters_npus_fourteen_times() -> None:
    """Of 8 NPUs: 2 (8 - 1) deliveries of each of 8 chunks by 8 links, after the first hop."""
    bound = best_bound(problem_on(able(star(8)), "all_reduce"))
    assert bound.time_ps == 15 * HOP_PS
    assert best_bound(problem_on(star(8), "all_reduce")).time_ps == 9 * HOP_PS


@pytest.mark.parametrize("name", ["all_gather", "reduce_scatter", "all_to_all", "all_reduce"])
def test_schedules_through_a_passive_switch_are_optimal(name: str) -> None:
    """Seven chunks enter each of 8 NPUs after the first hop; of an all-reduce one hop more may be found."""
    result = synthesize(problem_on(able(star(8)), name), "auto", Effort(trials=20))
    assert faults_of(result.schedule) == []
    if name == "all_reduce":
        assert result.time_ps <= 16 * HOP_PS
    else:
        assert result.time_ps == 8 * HOP_PS
        assert result.is_optimal


def rails(servers: int, each: int) -> LinkGraph:
    """Servers of NPUs on a fast switch each; the n-th NPUs of all servers share a slow switch."""
    npus = servers * each
    links: list[tuple[int, int, int, int]] = []
    for npu in range(npus):
        inside, rail = npus + npu // each, npus + servers + npu % each
        links += [
            (npu, inside, 350, 150),
            (inside, npu, 350, 150),
            (npu, rail, 1500, 25),
            (rail, npu, 1500, 25),
        ]
    return able(LinkGraph.of(npus, npus + servers + each, links))


@pytest.mark.parametrize("name", ["all_gather", "reduce_scatter"])
def test_chunks_cross_slow_switches_once_a_server_and_then_spread_inside(name: str) -> None:
    result = synthesize(problem_on(rails(4, 4), name), "restarts", Effort(trials=20), compare=False)
    assert check(result.schedule).is_valid
    assert result.gap <= 0.05


@pytest.mark.parametrize("name", ["greedy", "arrival", "beam", "trees", "improve", "exact"])
def test_searches_that_let_every_switch_copy_refuse_those_that_cannot(name: str) -> None:
    with pytest.raises(InputError, match=r"it lets every switch copy, or add, and switch 4 cannot"):
        synthesize(problem_on(able(star(4)), "all_gather"), name)


def test_backwards_copies_are_sums() -> None:
    graph = able(star(3), copies=[3])
    assert graph.transposed.cannot_copy == {3}
    assert graph.transposed.cannot_add == frozenset()
    assert graph.transposed.transposed.digest == graph.digest
    assert graph.digest != star(3).digest


def test_abilities_are_kept_in_files() -> None:
    problem = problem_on(able(star(3), adds=[3]), "all_gather")
    read = problem_of_json(problem_to_json(problem), star(3))
    assert read.graph.cannot_copy == {3}
    assert read.graph.cannot_add == frozenset()
    assert "cannot_copy" not in problem_to_json(problem_on(star(3), "all_gather"))


def test_keys_say_which_switches_copy_and_add(tmp_path: Path) -> None:
    path = tmp_path / "star.csv"
    path.write_text(link_graph_csv(star(3)))
    network = {"topology": str(path), "npus": "3"}
    graph = network_of({**network, "switch_copies": "none", "switch_adds": "[3]"}, None).graph
    assert (graph.cannot_copy, graph.cannot_add) == ({3}, frozenset())
    assert network_of(network, None).graph.cannot_copy == frozenset()
    for text, message in (
        ("some", "switch_copies is 'some'; it must be all, none, or nodes such as"),
        ("[1]", "switch_copies is '[1]', but node 1 is no switch; switches are 3 to 3"),
    ):
        with pytest.raises(InputError) as error:
            network_of({**network, "switch_copies": text}, None)
        assert message in str(error.value)
    with pytest.raises(InputError, match="has no effect without switches"):
        network_of({"topology": str(path), "switch_copies": "none"}, None)


@pytest.mark.parametrize("keys", [(), ("switch_copies=none", "switch_adds=none")])
def test_a_folder_has_a_page_whichever_switches_copy(tmp_path: Path, keys: tuple[str, ...]) -> None:
    file = tmp_path / "star.csv"
    file.write_text(link_graph_csv(star(4)))
    words = [f"topology={file}", "npus=4", "collective=all_reduce", *keys, "-o", str(tmp_path / "out")]
    assert synthesize_command(words) == 0
    page = (tmp_path / "out" / "index.html").read_text()
    assert ("cannot copy" in page) == bool(keys)
