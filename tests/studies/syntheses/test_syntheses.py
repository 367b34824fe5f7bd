"""Studies of syntheses: what is stored, what is computed again, and that every executor finds the same."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dse.collectives import Collective, Problem
from dse.inputs.networks import LinkGraph
from dse.studies.executors import ExecutorSettings
from dse.studies.store import StudyStore
from dse.studies.sweeps.study_run import run_cases
from dse.studies.syntheses import SYNTHESES, Case, SynthesisEvaluator, SynthesisRow

LINK = (500, 50)  # 1 MiB takes 21,471,520 ps
RING = LinkGraph.of(4, 4, [(i, (i + step) % 4, *LINK) for i in range(4) for step in (1, 3)])
LINE = LinkGraph.of(3, 3, [(0, 1, *LINK), (1, 0, *LINK), (1, 2, *LINK), (2, 1, *LINK)])
ONE_WAY = LinkGraph.of(2, 2, [(0, 1, *LINK)])


def case(name: str, graph: LinkGraph, collective: str, **search: int) -> Case:
    problem = Problem(graph, Collective(collective, graph.npus), Fraction(1 << 20))
    return Case(name, problem, "restarts", **({"trials": 2} | search))


def cases() -> list[Case]:
    return [
        case(name, graph, kind)
        for name, graph in (("ring", RING), ("line", LINE))
        for kind in ("all_gather", "broadcast")
    ]


def swept(folder: Path, wanted: list[Case], executor: str = "local") -> tuple[list[SynthesisRow], int]:
    """The rows of a study after a run, and how many of them it computed."""
    settings = ExecutorSettings(executor, threads=1)
    return run_cases(SynthesisEvaluator(), folder, wanted, settings)


def test_rows_have_time_bound_and_fixed_algorithms(tmp_path: Path) -> None:
    rows, computed = swept(tmp_path / "s", cases())
    assert computed == 4
    found = {(row.topology, row.collective): (row.time_ps, row.bound_ps, row.status) for row in rows}
    assert found == {
        ("ring", "all_gather"): (2 * 21_471_520, 2 * 21_471_520, "ok"),
        ("ring", "broadcast"): (2 * 21_471_520, 2 * 21_471_520, "ok"),
        ("line", "all_gather"): (2 * 21_471_520, 2 * 21_471_520, "ok"),
        ("line", "broadcast"): (2 * 21_471_520, 2 * 21_471_520, "ok"),
    }
    assert all(row.optimal and row.best_fixed_ps is not None for row in rows)


def test_a_second_run_computes_what_is_new_only(tmp_path: Path) -> None:
    swept(tmp_path / "s", cases())
    more = [*cases(), case("ring", RING, "all_to_all"), case("ring", RING, "all_gather", seed=1)]
    rows, computed = swept(tmp_path / "s", more)
    assert (len(rows), computed) == (6, 2)
    assert len(StudyStore(tmp_path / "s", SYNTHESES).rows()) == 6


def test_equal_problems_under_two_names_are_one_row(tmp_path: Path) -> None:
    twins = [case("ring", RING, "all_gather"), case("again", RING, "all_gather")]
    assert swept(tmp_path / "s", twins)[1] == 1


def test_a_problem_without_a_way_is_a_row_with_its_reason_and_tried_again(tmp_path: Path) -> None:
    rows, _ = swept(tmp_path / "s", [case("one-way", ONE_WAY, "all_gather")])
    assert [(row.status, row.time_ps) for row in rows] == [("failed", None)]
    assert "NPU 1" in rows[0].reason
    assert "NPU 0" in rows[0].reason
    assert swept(tmp_path / "s", [case("one-way", ONE_WAY, "all_gather")])[1] == 1


@pytest.mark.parametrize("executor", ["local", "ray"])
def test_processes_find_what_one_process_finds(executor: str, tmp_path: Path) -> None:
    alone, _ = swept(tmp_path / "alone", cases())
    settings = (
        ExecutorSettings("local", threads=2) if executor == "local" else ExecutorSettings("ray", workers=2)
    )
    rows, _ = run_cases(SynthesisEvaluator(), tmp_path / executor, cases(), settings)
    assert [replace(row, cpu_s=None) for row in rows] == [replace(row, cpu_s=None) for row in alone]


def test_rows_of_the_first_version_are_those_of_switches_that_store(tmp_path: Path) -> None:
    rows, _ = swept(tmp_path / "new", cases())
    old = SYNTHESES.table(rows).drop_columns(["split", "forwarding"])
    (tmp_path / "old").mkdir()
    marks = {"schema_version": "1", "record": SYNTHESES.name}
    pq.write_table(old.replace_schema_metadata(marks), tmp_path / "old" / f"part-{'0' * 32}.parquet")

    read, computed = swept(tmp_path / "old", cases())
    assert (read, computed) == (rows, 0)
    assert {(row.forwarding, row.split) for row in read} == {("stored", None)}
