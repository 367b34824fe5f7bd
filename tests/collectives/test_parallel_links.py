"""Several links from one node to another: each carries a chunk at a time, in searches, checks and files."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import MIB, random_graph, replay

from dse.base.errors import InputError
from dse.collectives import Collective, LinkModel, Problem, Schedule
from dse.collectives.bounds import best_bound
from dse.collectives.check.checker import check, check_sends
from dse.collectives.files.chakra import check_traceable
from dse.collectives.files.folder import write_folder
from dse.collectives.files.parquet import schedule_parquet
from dse.collectives.files.read import read_schedule
from dse.collectives.problem.collective import COLLECTIVES
from dse.collectives.problem.of_schedule import given_problem
from dse.collectives.problem.recorded_sends import SendTable
from dse.collectives.problem.settings import network_of
from dse.collectives.question import question_of, synthesized
from dse.collectives.robust.failures import Failure
from dse.collectives.search.reductions import turned_links
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.inputs.networks import LinkGraph

HEADER = "Src,Dest,Latency (ns),Bandwidth (GB/s)"
TWICE = f"3\n{HEADER}\n0,1,0,1\n0,1,0,1\n1,0,0,1\n1,2,0,1\n1,2,0,2\n2,1,0,1\n"


def doubled(npus: int, more: int, seed: int, switches: int = 0) -> LinkGraph:
    """A graph in which some links occur two or three times, of their own or another kind."""
    graph = random_graph(npus + switches, 3, seed)
    rng = random.Random(seed)
    again = [rng.randrange(len(graph)) for _ in range(more)]
    kinds = [int(graph.kind_of[rng.choice([link, 0])]) for link in again]
    return LinkGraph(
        npus,
        graph.nodes,
        np.concatenate([graph.sources, graph.sources[again]]),
        np.concatenate([graph.destinations, graph.destinations[again]]),
        np.concatenate([graph.kind_of, np.array(kinds, dtype=np.int32)]),
        graph.kinds,
    )


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 6),
    st.integers(1, 8),
    st.integers(0, 999),
    st.integers(0, 2),
    st.sampled_from(COLLECTIVES),
    st.integers(1, 3),
    st.sampled_from(["total", "bandwidth"]),
)
def test_schedules_are_valid_above_their_bounds_and_the_same_from_files(
    npus: int, more: int, seed: int, switches: int, name: str, k: int, occupancy: str
) -> None:
    graph = doubled(npus, more, seed, switches)
    problem = Problem(graph, Collective(name, npus, k), MIB, LinkModel(occupancy=occupancy))
    for synthesizer in ("fast", "improve"):
        schedule = synthesize(problem, synthesizer, Effort(trials=2)).schedule
        assert check(schedule).is_valid
        assert schedule.time_ps >= best_bound(problem).time_ps
        assert replay(schedule)[0] <= schedule.time_ps
        of_file = SendTable(*(getattr(SendTable.of(schedule), column) for column in COLUMNS))
        assert check_sends(problem, of_file).is_valid


COLUMNS = ("source", "destination", "chunk", "start_ps", "end_ps", "reduce")


def test_two_links_carry_two_chunks_at_a_time() -> None:
    """Two chunks of 1 us to the next NPU, and on over a link of 1 us or of 0.5 us."""
    graph = LinkGraph.of(3, 3, [(0, 1, 0, 1), (0, 1, 0, 1), (1, 2, 0, 1), (1, 2, 0, 2)])
    found = synthesize(
        Problem(graph, Collective("broadcast", 3, 2), Fraction(1000)), "auto", Effort(trials=3)
    )
    assert (found.time_ps, found.is_optimal) == (2_000_000, True)
    alone = LinkGraph.of(3, 3, [(0, 1, 0, 1), (1, 2, 0, 1)])
    slow = synthesize(Problem(alone, Collective("broadcast", 3, 2), Fraction(1000)), "auto", Effort(trials=3))
    assert slow.time_ps == 3_000_000


def test_twice_the_links_of_a_pair_halve_an_all_reduce() -> None:
    def pair(times: int) -> Problem:
        links = [(0, 1, 0, 1), (1, 0, 0, 1)] * times
        return Problem(LinkGraph.of(2, 2, links), Collective("all_reduce", 2, 2), Fraction(1000))

    times = [synthesize(pair(number), "auto", Effort(trials=3)).time_ps for number in (1, 2, 4)]
    assert times == [4_000_000, 2_000_000, 1_000_000]


def test_each_of_parallel_links_is_turned_into_one_of_its_kind() -> None:
    links = [(0, 1, 0, 1), (0, 1, 0, 2), (1, 0, 0, 2), (0, 1, 0, 1), (1, 0, 0, 1), (1, 0, 0, 1)]
    problem = Problem(LinkGraph.of(2, 2, links), Collective("all_reduce", 2), Fraction(1000))
    turned = turned_links(problem)
    assert turned is not None
    assert turned.tolist() == [4, 2, 1, 5, 0, 3]
    uneven = Problem(LinkGraph.of(2, 2, links[:-1]), Collective("all_reduce", 2), Fraction(1000))
    assert turned_links(uneven) is None


def test_the_check_counts_links(tmp_path: Path) -> None:
    """Two sends at once are two links', or one link's twice; a third has none."""
    graph = LinkGraph.of(2, 2, [(0, 1, 0, 1), (0, 1, 0, 1)])
    problem = Problem(graph, Collective("broadcast", 2, 3), Fraction(1000))
    chunk, start = np.arange(3, dtype=np.int32), np.array([0, 0, 1_000_000])

    def rules(links: list[int]) -> list[int]:
        schedule = Schedule.of(problem, np.array(links, dtype=np.int32), chunk, start)
        return [violation.rule for violation in check(schedule).violations]

    assert rules([0, 1, 0]) == []
    assert rules([0, 0, 1]) == [2]

    for starts, expected in (([0, 0, 1_000_000], []), ([0, 0, 0], [2])):
        path = tmp_path / "sends.jsonl"
        lines = [
            f'{{"src":0,"dst":1,"chunk":{number},"start_ps":{at},"end_ps":{at + 1_000_000}}}'
            for number, at in enumerate(starts)
        ]
        path.write_text("\n".join(lines))
        verdict = check_sends(problem, read_schedule(path).sends)
        assert [violation.rule for violation in verdict.violations] == expected


def asked(folder: Path, **more: str) -> dict[str, str]:
    path = folder / "twice.csv"
    path.write_text(TWICE)
    return {"topology": str(path), "collective": "all_gather", "chunks_per_npu": "3", "trials": "2", **more}


@pytest.mark.parametrize("form", ["schedule.csv", "schedule.jsonl", "schedule.parquet"])
def test_all_forms_are_read_again(tmp_path: Path, form: str) -> None:
    answer = synthesized(question_of(asked(tmp_path), None))
    folder = tmp_path / "out"
    write_folder(folder, answer.schedule, answer.network, answer.data())
    (folder / "schedule.parquet").write_bytes(schedule_parquet(answer.schedule, answer.data()))
    assert len(answer.schedule.problem.graph) == 6

    file, problem = given_problem(folder / form, {}, None)

    assert check_sends(problem, file.sends).is_valid
    assert check(file.sends.schedule(problem)).is_valid


def test_parallel_links_fail_together(tmp_path: Path) -> None:
    graph = network_of(asked(tmp_path), None).graph
    assert Failure.parse(graph, "1>2").links.tolist() == [False, False, False, True, True, False]
    with pytest.raises(InputError, match="after the failure the topology has no way from NPU 0 to NPU 2"):
        question_of(asked(tmp_path, failed_links="1-2"), None)


def test_traces_do_not_tell_parallel_links_apart(tmp_path: Path) -> None:
    problem = question_of(asked(tmp_path), None).problem
    with pytest.raises(InputError, match="the network has several from one to another"):
        check_traceable(problem)


def test_alike_nodes_with_parallel_links_have_no_translations() -> None:
    ring = [(node, (node + step) % 4, 0, 1) for node in range(4) for step in (1, 3)]
    assert LinkGraph.of(4, 4, ring).translations is not None
    assert LinkGraph.of(4, 4, ring * 2).translations is None
