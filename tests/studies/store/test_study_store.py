"""A study keeps every row that was written to it, through crashes, damage and full disks."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_study import NEW, OLD, raising, rows_of, stored_study, visible_names
from study_rows import arbitrary_rows, keyed, row

from dse.base.errors import InputError
from dse.studies.store import (
    POINTS,
    StudyRow,
    StudyStore,
    as_table,
    study_schema,
)


@pytest.fixture
def study(tmp_path: Path) -> StudyStore:
    return stored_study(tmp_path)


@settings(deadline=None, max_examples=40)
@given(parts=st.lists(st.lists(arbitrary_rows(), max_size=4), min_size=1, max_size=3))
def test_any_rows_written_in_any_number_of_parts_are_read_back(parts: list[list[StudyRow]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        study = StudyStore.create(folder)
        for part in parts:
            study.append(part)
        expected = [point for part in parts for point in part]
        assert sorted(map(repr, rows_of(study))) == sorted(map(repr, expected))


def test_rows_keep_their_order_within_a_part(study: StudyStore) -> None:
    assert rows_of(study) == OLD


def test_a_study_is_parts_and_nothing_else(study: StudyStore) -> None:
    (part,) = visible_names(study)
    assert [path.name for path in study.parts()] == [part]


def test_a_table_read_back_has_the_schema_with_its_metadata(study: StudyStore) -> None:
    assert study.read_table().schema.equals(study_schema(), check_metadata=True)


def test_a_study_says_its_folder_without_being_read(tmp_path: Path) -> None:
    assert repr(StudyStore(tmp_path / "no")) == f"<StudyStore of point rows in '{tmp_path}/no'>"


def test_columns_can_be_chosen(study: StudyStore) -> None:
    table = study.read_table(["wall_time_ns", "dp"])
    assert table.to_pydict() == {"wall_time_ns": [4_088_264_658, 4_088_264_658], "dp": [1, 2]}


def test_an_unknown_column_is_named_with_those_that_there_are(study: StudyStore) -> None:
    with pytest.raises(
        InputError, match=r"unknown column 'walltime': a study has study, model, .*wall_time_ns"
    ):
        study.read_table(["walltime"])


def test_a_study_without_points_is_a_study(tmp_path: Path) -> None:
    study = StudyStore.create(tmp_path)
    assert study.keys() == set()
    study.append([])
    assert rows_of(study) == []
    assert study.keys() == set()


def test_create_keeps_the_study_that_is_there(study: StudyStore) -> None:
    assert rows_of(StudyStore.create(study.folder)) == OLD


def test_keys_are_those_of_the_rows_less_some_statuses(study: StudyStore) -> None:
    study.append(keyed(3, status="failed", wall_time_ns=None))
    assert study.keys() == {f"{dp:032x}" for dp in (1, 2, 3)}
    assert study.keys(without=["failed", "timeout"]) == {f"{dp:032x}" for dp in (1, 2)}


def test_a_point_that_two_processes_stored_is_read_once(study: StudyStore) -> None:
    study.append(keyed(2, 3))
    assert [point.dp for point in sorted(rows_of(study), key=lambda point: point.dp)] == [1, 2, 3]
    assert study.read_table(["dp"]).num_rows == 3


def test_a_point_that_failed_and_then_ended_well_is_the_latter(study: StudyStore) -> None:
    for status in ("failed", "ok", "timeout"):
        study.append(keyed(3, status=status))
    assert [point.status for point in rows_of(study) if point.dp == 3] == ["ok"]


def test_rows_of_schema_version_1_are_read_and_none_of_them_is_taken_for_another(tmp_path: Path) -> None:
    old = as_table([row(), row()]).drop_columns(["key", "model_spec", "system_spec", "options"])
    pq.write_table(
        old.replace_schema_metadata({"schema_version": "1"}), tmp_path / f"part-{'0' * 32}.parquet"
    )
    assert rows_of(StudyStore(tmp_path)) == [row(), row()]
    StudyStore(tmp_path).append(keyed(3, 4))
    assert sorted(point.dp for point in rows_of(StudyStore(tmp_path))) == [3, 4, 8, 8]
    with pytest.raises(InputError, match=r"rows of schema version 1, without keys: .*study=NAME"):
        StudyStore.create(tmp_path)


@pytest.fixture
def study_of_0_2_0(tmp_path: Path) -> StudyStore:
    """A copy of six points of tiny on torus_4x4 that release 0.2.0 stored, in schema version 2."""
    shutil.copytree(Path(__file__).parent / "study_of_0_2_0", tmp_path / "s020")
    return StudyStore.create(tmp_path / "s020")


def test_a_study_that_release_0_2_0_wrote_is_read_and_added_to(study_of_0_2_0: StudyStore) -> None:
    best = min(rows_of(study_of_0_2_0), key=lambda point: point.wall_time_ns or 0)
    assert (best.dp, best.tp, best.wall_time_ns, best.peak_memory_bytes) == (8, 2, 659_220, 111_149_056)
    assert {point.understated_comm for point in rows_of(study_of_0_2_0)} == {None}  # a column of later
    study_of_0_2_0.append(keyed(3))
    study_of_0_2_0.compact()
    assert sorted(point.dp for point in rows_of(study_of_0_2_0)) == [2, 2, 2, 2, 3, 8, 8]
    assert len(study_of_0_2_0.parts()) == 1
    StudyStore.create(study_of_0_2_0.folder)


def test_columns_that_a_part_is_too_old_for_hold_their_fill_value(
    study_of_0_2_0: StudyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = study_of_0_2_0.parts()[0]
    pq.write_table(pq.read_table(part).drop_columns(["fractional", "reason", "options"]), part)
    with pytest.raises(InputError, match="is corrupt"):
        rows_of(study_of_0_2_0)
    for name, fill in {"fractional": True, "reason": "not known then", "options": "{}"}.items():
        monkeypatch.setitem(POINTS.columns, name, POINTS.columns[name]._replace(since=1000, fill=fill))
    points = rows_of(study_of_0_2_0)
    assert {(point.fractional, point.reason, point.options) for point in points} == {
        (True, "not known then", "{}")
    }
    assert study_of_0_2_0.read_table(["dp", "reason"])["reason"].to_pylist() == ["not known then"] * 6


def test_the_provenance_of_sweeps_is_beside_the_rows(study: StudyStore) -> None:
    study.record_sweep("20261121T100000Z-b", "second: 2\n")
    study.record_sweep("20261121T090000Z-a", "first: 1\n")
    assert [path.read_text() for path in study.sweeps()] == ["first: 1\n", "second: 2\n"]
    assert len(pd.read_parquet(study.folder)) == 2


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_disk_that_cannot_be_written_is_named_and_the_study_stays_as_it_was(
    study: StudyStore, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    before = visible_names(study)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, raising(OSError(code, os.strerror(code))))
        with pytest.raises(InputError) as caught:
            study.append(NEW)
    assert str(study.folder) in str(caught.value)
    assert os.strerror(code) in str(caught.value)
    assert visible_names(study) == before
    assert rows_of(study) == OLD


def test_a_read_only_folder_fails_before_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_only = OSError(errno.EROFS, os.strerror(errno.EROFS))
    monkeypatch.setattr(tempfile, "TemporaryFile", raising(read_only))
    with pytest.raises(InputError, match=r"cannot write .*Read-only file system"):
        StudyStore.create(tmp_path)


def test_a_file_in_the_place_of_the_folder_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "study").write_text("")
    with pytest.raises(InputError, match=r"study.*File exists"):
        StudyStore.create(tmp_path / "study")
    with pytest.raises(InputError, match="is not a study: Not a directory"):
        StudyStore(tmp_path / "study").read_table()


def test_a_folder_that_is_not_there_or_has_no_part_is_not_a_study(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a study: No such file or directory"):
        StudyStore(tmp_path / "nowhere").read_table()
    with pytest.raises(InputError, match=r"is not a study: it has no part-<uuid>\.parquet"):
        StudyStore(tmp_path).read_table()


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_truncated_part_is_an_error_that_names_it_and_the_way_out(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        study = StudyStore.create(folder)
        part = study.append(OLD)
        content = part.read_bytes()
        part.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
        with pytest.raises(InputError) as caught:
            study.read_table()
        assert str(part) in str(caught.value)
        assert "move it away and run the sweep again" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_changed_byte_in_the_data_is_found(study: StudyStore) -> None:
    (part,) = study.parts()
    content = bytearray(part.read_bytes())
    content[content.index(b"llama70b")] ^= 1
    part.write_bytes(content)
    with pytest.raises(InputError, match="is corrupt"):
        study.read_table()


def test_what_is_left_when_a_corrupt_part_is_moved_away(study: StudyStore) -> None:
    part = study.append(NEW)
    content = part.read_bytes()
    part.write_bytes(content[:100])
    with pytest.raises(InputError, match="move it away"):
        study.keys()
    part.rename(part.with_suffix(".damaged"))
    assert rows_of(study) == OLD


@pytest.mark.parametrize(
    ("footer", "message"),
    [
        (
            {"schema_version": "1000"},
            rf"has schema version 1000, this program reads up to {POINTS.version}: use a newer one",
        ),
        ({"schema_version": "one"}, "is corrupt"),
        ({}, "is not part of a study"),
    ],
)
def test_a_part_of_another_version_or_origin_is_refused(
    study: StudyStore, footer: dict[str, str], message: str
) -> None:
    table = as_table(OLD).replace_schema_metadata(footer)
    pq.write_table(table, study.folder / f"part-{'0' * 32}.parquet")
    with pytest.raises(InputError, match=f"part-{'0' * 32}.parquet {message}"):
        study.read_table()


def test_a_part_without_a_column_is_refused(study: StudyStore) -> None:
    table = as_table(OLD).drop_columns(["wall_time_ns"])
    pq.write_table(table, study.folder / f"part-{'0' * 32}.parquet")
    with pytest.raises(InputError, match=f"part-{'0' * 32}.parquet is corrupt"):
        study.read_table()


def test_a_relative_study_stays_where_it_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = StudyStore.create("results/here")
    study.append(OLD)
    assert study.folder == Path("results/here")
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    study.append(NEW)
    assert rows_of(study) == rows_of(StudyStore(tmp_path / "results" / "here"))
    assert (len(rows_of(study)), list(other.iterdir())) == (5, [])
    other.rmdir()
    assert len(rows_of(study)) == 5


def test_the_one_liners_of_the_readme_read_a_study(
    study: StudyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study.folder.parent.parent)
    study.append(keyed(32, tp=1, sp=2, wall_time_ns=3_206_889_878))
    study.append(NEW)
    study.parts()[0].with_name("_notes.txt").write_text("mine")
    frame = pd.read_parquet("results/llama70b-system1")
    assert sorted(frame["dp"]) == [1, 2, 4, 8, 8, 32]
    top = duckdb.sql(
        "select dp, tp, sp, wall_time_ns from 'results/llama70b-system1/*.parquet' "
        "where status='ok' order by wall_time_ns limit 5"
    )
    assert top.fetchall()[0] == (32, 1, 2, 3_206_889_878)
    assert len(top.fetchall()) == 5
