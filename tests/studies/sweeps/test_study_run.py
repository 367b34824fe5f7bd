"""A study of any record: a record type and an evaluator are all that the executors and the run need."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import squares
from squares import SQUARES, Number, QuickSquareEvaluator, SquareEvaluator, SquareRow

from dse.base.errors import InputError
from dse.studies.executors import ExecutorSettings
from dse.studies.executors.local import LocalExecutor
from dse.studies.store import StudyStore
from dse.studies.store.history import unfinished_sweep
from dse.studies.sweeps.study_run import run_cases

ALONE = ExecutorSettings("local", threads=1)
PROCESSES = ExecutorSettings("local", threads=2)
RAY = ExecutorSettings("ray", workers=2)


@pytest.fixture
def ray_knows_squares() -> Iterator[None]:
    cloudpickle = pytest.importorskip("ray.cloudpickle")
    cloudpickle.register_pickle_by_value(squares)
    yield
    cloudpickle.unregister_pickle_by_value(squares)


def run(
    folder: Path,
    values: list[int],
    settings: ExecutorSettings = ALONE,
    evaluator: type[SquareEvaluator] = SquareEvaluator,
) -> tuple[list[SquareRow], int]:
    return run_cases(evaluator(), folder / "s", [Number(value) for value in values], settings)


def test_what_is_stored_is_not_computed_again(tmp_path: Path) -> None:
    assert run(tmp_path, [1, 2, 3])[1] == 3
    rows, computed = run(tmp_path, [2, 3, 4, 4])
    assert ([(row.value, row.square) for row in rows], computed) == ([(2, 4), (3, 9), (4, 16)], 1)
    assert run(tmp_path, [2, 3, 4])[1] == 0
    assert len(StudyStore(tmp_path / "s", SQUARES).sweeps()) == 2


def test_one_case_at_a_time_needs_no_other_process(tmp_path: Path) -> None:
    assert {row.process for row in run(tmp_path, [1, 2])[0]} == {os.getpid()}
    assert {row.process for row in run(tmp_path, [3], PROCESSES)[0]} == {os.getpid()}


def test_long_cases_have_processes_of_their_own_and_short_ones_threads(tmp_path: Path) -> None:
    values = list(range(8))
    rows, _ = run(tmp_path / "long", values, PROCESSES)
    assert [row.square for row in rows] == [0, 1, 4, 9, 16, 25, 36, 49]
    assert os.getpid() not in {row.process for row in rows}
    rows, _ = run(tmp_path / "short", values, PROCESSES, QuickSquareEvaluator)
    assert [row.square for row in rows] == [0, 1, 4, 9, 16, 25, 36, 49]
    assert {row.process for row in rows} == {os.getpid()}


def test_a_process_that_is_killed_is_one_line_and_rows_so_far_stay(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a process was killed, perhaps for want of memory; rows so far"):
        run(tmp_path, [1, 2, 3, 4, 666, 5], PROCESSES)
    store = StudyStore(tmp_path / "s", SQUARES)
    assert unfinished_sweep(store) is not None
    assert all(row.square == row.value**2 for row in store.rows())


def test_rows_that_are_done_come_before_the_error_of_a_later_case() -> None:
    """The reader is slow, so that cases and the one that ends its process are all done when it comes back."""
    rows = LocalExecutor(threads=2, evaluator=SquareEvaluator()).run(map(Number, [1, 2, 3, 4, 666, 5]))
    found = [next(rows)]
    time.sleep(3)
    with pytest.raises(InputError, match="a process was killed"):
        found.extend(rows)
    assert len(found) >= 3  # of two processes one is still at a case before


def test_wrong_input_ends_the_run(tmp_path: Path) -> None:
    for settings in (ALONE, PROCESSES):
        with pytest.raises(InputError, match="13 is no number for a square"):
            run(tmp_path, [1, 13], settings)


@pytest.mark.usefixtures("ray_knows_squares")
def test_a_case_that_ends_workers_of_ray_is_a_row_with_its_reason(tmp_path: Path) -> None:
    rows, computed = run(tmp_path, [1, 666, 3], RAY)
    assert computed == 3
    assert [(row.value, row.square, row.status) for row in rows] == [
        (1, 1, "ok"),
        (3, 9, "ok"),
        (666, None, "failed"),
    ]
    assert rows[2].reason == "its process ended with signal 9 (SIGKILL), twice"
    assert run(tmp_path, [1, 3, 666 + 1], RAY)[1] == 1
