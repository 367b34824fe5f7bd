"""All-to-alls of unequal sizes, and collectives among some NPUs."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.collectives.check.checker import check
from dse.collectives.problem.settings import network_of, problem_of
from dse.collectives.search.synthesis import Result, synthesize
from dse.collectives.search.synthesizers.base import Effort

RING = {"topology": "torus__dim=[4]__alpha=500__beta=50"}


def _solved(values: dict[str, str]) -> Result:
    problem, _ = problem_of(network_of({**RING, **values}, None), {**RING, **values})
    return synthesize(problem, "auto", Effort(trials=5))


def test_a_demand_is_sent_in_whole_chunks_and_reaches_its_bound(tmp_path: Path) -> None:
    """NPU 0 sends 8 MiB to NPU 2, half each way round; nothing is faster."""
    (tmp_path / "d.csv").write_text("0,0,8MiB,0\n0,0,0,0\n0,0,0,0\n0,0,0,5\n")
    values = {"collective": "all_to_all", "demand": str(tmp_path / "d.csv"), "chunk_bytes": "1MiB"}
    found = _solved(values)
    assert check(found.schedule).is_valid
    assert found.schedule.problem.collective.chunks == 8
    assert found.is_optimal
    _, size = problem_of(network_of(RING, None), {**RING, **values, "chunk_bytes": "3MiB"})
    assert (size.operation_bytes, size.padding_bytes) == (8 << 20, 1 << 20)
    _, size = problem_of(
        network_of(RING, None), {**RING, "collective": "all_to_all", "demand": values["demand"]}
    )
    assert size.chunk_bytes == Fraction(1 << 20)


def test_a_group_gathers_and_the_others_relay() -> None:
    found = _solved({"group": "[0,2]", "chunk_bytes": "1MiB"})
    assert check(found.schedule).is_valid
    graph = found.schedule.problem.graph
    relays = set(graph.destinations[found.schedule.link].tolist()) - {0, 2}
    assert relays  # no link joins 0 and 2
    npus, chunks = found.schedule.problem.collective.wants()
    assert set(zip(npus.tolist(), chunks.tolist(), strict=True)) == {(0, 0), (0, 1), (2, 0), (2, 1)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1\n1,0\n", "has 2 rows; it must have one for each of the 4 NPUs"),
        ("0,1,2\n" * 4, "row 1: has 3 sizes; it must have 4"),
        ("0,x,0,0\n" * 4, "row 1, column 2 'x' is not a number of bytes"),
        ("0,0,0,0\n" * 4, "every size is 0"),
        ("0,-1,0,0\n" * 4, "row 1, column 2: is '-1'"),
        ('0,"' + "1" * 140_000, "malformed CSV: field larger than field limit"),
    ],
)
def test_wrong_demands_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        _solved({"collective": "all_to_all", "demand": str(tmp_path / "d.csv")})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"demand": "d.csv"}, "demand has no effect on all_gather; write collective=all_to_all too"),
        ({"demand": "d.csv", "collective": "all_to_all", "group": "[0,1]"}, "has no effect with demand"),
        ({"group": "[0]"}, "group has 1 NPU; a collective is among at least 2"),
        ({"group": "[0,9]"}, "group is '9'; it must be a whole number"),
        ({"group": "[0,0]", "collective": "all_reduce"}, "a list has different entries"),
        ({"group": "[0,1]", "collective": "scatter", "root": "2"}, "root is"),
    ],
)
def test_wrong_groups_are_one_line(values: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("[", r"\[")):
        _solved(values)
