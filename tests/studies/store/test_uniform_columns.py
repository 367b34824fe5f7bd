"""Columns with one value in all rows are taken from the footers of parts, and are as rows would give."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study_rows import arbitrary_rows, keyed, row

from dse.base.errors import InputError
from dse.studies.store import POINTS, StudyRow, StudyStore
from dse.studies.store.snapshot import uniform_columns, uniform_values

NAMES = [name for name in POINTS.columns if name != "key"]


def uniform(store: StudyStore, names: list[str] = NAMES) -> dict[str, object]:
    return uniform_values(POINTS, store._footers_of_study(), names)


@pytest.fixture
def study(tmp_path: Path) -> StudyStore:
    """Two parts: `dp` differs within one, `tp` between them, and some rows have no peak."""
    study = StudyStore.create(tmp_path / "s")
    study.append(keyed(1, 2, 4, mfu_pct=None))
    study.append(keyed(8, 16, tp=2, peak_memory_bytes=None))
    return study


def test_columns_that_differ_within_parts_or_between_them_are_not_uniform(study: StudyStore) -> None:
    found = uniform(study)
    assert {"dp", "tp", "peak_memory_bytes"}.isdisjoint(found)
    assert (found["sp"], found["npus"], found["activation_recompute"]) == (8, 64, True)
    assert (found["model"], found["status"], found["schedules"]) == ("llama70b", "ok", None)


def test_statistics_of_doubles_are_not_believed(study: StudyStore) -> None:
    assert "compute_bound_pct" not in uniform(study)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(arbitrary_rows(), min_size=1, max_size=3), min_size=1, max_size=3))
def test_a_snapshot_has_the_columns_that_all_rows_give(parts: list[list[StudyRow]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = StudyStore.create(folder)
        for part in parts:
            store.append(part)
        table = store.snapshot(NAMES).table.select(NAMES)
        assert table.cast(POINTS.schema.empty_table().select(NAMES).schema).equals(store.read_table(NAMES))


def test_equal_columns_share_their_memory() -> None:
    columns = uniform_columns(POINTS.coded_schema(["cp", "ep", "model"]), {"cp": 1, "ep": 1, "model": "m"}, 3)
    assert columns["cp"] is columns["ep"]
    assert columns["cp"].to_pylist() == [1, 1, 1]
    assert columns["model"].to_pylist() == ["m", "m", "m"]


def test_a_value_in_all_rows_that_no_sweep_writes_tells_of_a_damaged_part(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path / "s")
    path = store.append(keyed(1, 2))
    table = pq.read_table(path)
    column = table.schema.get_field_index("npus")
    table = table.set_column(column, table.schema.field("npus"), pa.array([0, 0], pa.int64()))
    pq.write_table(table, path)
    with pytest.raises(InputError, match=r"is corrupt \(npus is 0\)"):
        store.snapshot(["npus"])


def test_rows_of_parts_that_are_too_old_for_a_column_hold_its_fill_value() -> None:
    old = StudyStore(Path(__file__).parent / "study_of_0_2_0")
    assert uniform(old, ["cp", "schedules"]) == {"cp": 1, "schedules": None}


def test_a_study_of_uniform_columns_only_has_all_its_rows(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path / "s")
    store.append([row(key=f"{number:032x}") for number in range(3)])
    store.append([row(key="f" * 32)])
    assert store.snapshot(["model", "npus"]).table["npus"].to_pylist() == [64, 64, 64, 64]
