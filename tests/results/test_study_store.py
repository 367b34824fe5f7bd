"""A study keeps every row that was written to it, through crashes, damage and full disks."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study_rows import arbitrary_rows, failed_row, row

from dse.errors import InputError
from dse.results import StudyRow, StudyStore, as_rows, as_table, store, study_schema

OLD = [row(dp=1), row(dp=2)]
NEW = [row(dp=4), row(dp=8), failed_row("infeasible", "more stages than operators")]


@pytest.fixture
def study(tmp_path: Path) -> StudyStore:
    """A study with two old rows."""
    study = StudyStore.create(tmp_path / "results" / "llama70b-system1", config_yaml="old: true\n")
    study.write(OLD)
    return study


def rows_of(study: StudyStore) -> list[StudyRow]:
    return as_rows(study.read_table())


def raising(error: BaseException) -> Any:
    def raise_error(*_: Any, **__: Any) -> Any:
        raise error

    return raise_error


def visible_names(study: StudyStore) -> list[str]:
    return sorted(path.name for path in study.folder.iterdir())


@settings(deadline=None, max_examples=40)
@given(parts=st.lists(st.lists(arbitrary_rows(), max_size=4), min_size=1, max_size=3))
def test_any_rows_written_in_any_number_of_parts_are_read_back(parts: list[list[StudyRow]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        study = StudyStore.create(folder, config_yaml="")
        for part in parts:
            study.write(part)
        expected = [point for part in parts for point in part]
        assert sorted(map(repr, rows_of(study))) == sorted(map(repr, expected))


def test_rows_keep_their_order_within_a_part(study: StudyStore) -> None:
    assert rows_of(study) == OLD


def test_a_study_is_parts_and_a_config_and_nothing_else(study: StudyStore) -> None:
    config, part = visible_names(study)
    assert config == "_config.yaml"
    assert [path.name for path in study.parts()] == [part]
    assert study.config_path.read_text() == "old: true\n"


def test_a_table_read_back_has_the_schema_with_its_metadata(study: StudyStore) -> None:
    assert study.read_table().schema.equals(study_schema(), check_metadata=True)


def test_columns_can_be_chosen(study: StudyStore) -> None:
    table = study.read_table(["wall_time_ns", "dp"])
    assert table.to_pydict() == {"wall_time_ns": [4_088_264_658, 4_088_264_658], "dp": [1, 2]}


def test_an_unknown_column_is_named_with_those_that_there_are(study: StudyStore) -> None:
    with pytest.raises(
        InputError, match=r"unknown column 'walltime': a study has study, model, .*wall_time_ns"
    ):
        study.read_table(["walltime"])


def test_a_study_without_points_is_a_study(tmp_path: Path) -> None:
    study = StudyStore.create(tmp_path, config_yaml="")
    study.replace([], config_yaml="")
    assert rows_of(study) == []


def test_create_keeps_the_study_that_is_there(study: StudyStore) -> None:
    again = StudyStore.create(study.folder, config_yaml="new: true\n")
    assert rows_of(again) == OLD
    assert again.config_path.read_text() == "old: true\n"


def test_replace_leaves_only_the_new_rows_and_the_new_config(study: StudyStore) -> None:
    study.write(OLD)
    part = study.replace(NEW, config_yaml="new: true\n")
    assert rows_of(study) == NEW
    assert study.config_path.read_text() == "new: true\n"
    assert visible_names(study) == ["_config.yaml", part.name]


def test_rows_can_be_added_after_a_replacement(study: StudyStore) -> None:
    study.replace(NEW, config_yaml="")
    study.write(OLD)
    assert sorted(point.dp for point in rows_of(study)) == [1, 2, 4, 8, 8]


def test_replace_interrupted_before_the_rename_leaves_the_old_study(
    study: StudyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = visible_names(study)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", raising(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            study.replace(NEW, config_yaml="new: true\n")
    assert visible_names(study) == before
    assert rows_of(study) == OLD


@pytest.mark.parametrize("moment", ["_write_config", "unlink"])
def test_replace_interrupted_after_the_rename_shows_only_the_new_rows(
    study: StudyStore, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    study.write(OLD)
    with monkeypatch.context() as patch:
        patch.setattr(Path if moment == "unlink" else StudyStore, moment, raising(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            study.replace(NEW, config_yaml="new: true\n")
    assert len(visible_names(study)) == 4
    assert rows_of(study) == NEW
    study.replace(OLD, config_yaml="old: true\n")
    assert rows_of(study) == OLD
    assert len(visible_names(study)) == 2


def test_leftovers_of_a_crash_and_foreign_files_are_ignored(study: StudyStore) -> None:
    leftover = study.folder / f".part-{'0' * 32}.parquet.{'1' * 32}.tmp"
    leftover.write_bytes(b"PAR1 half a part")
    (study.folder / ".hydra").mkdir()
    assert len(pd.read_parquet(study.folder)) == 2
    assert duckdb.sql(f"select count(*) from '{study.folder}/*.parquet'").fetchall() == [(2,)]
    pq.write_table(as_table(NEW), study.folder / "mine.parquet")
    (study.folder / "part-notes.parquet").write_text("not ours")
    assert rows_of(study) == OLD


def test_a_reader_overtaken_by_a_replacement_reads_the_new_rows(
    study: StudyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_part = store._read_part

    def replaced_meanwhile(path: Path, schema: pa.Schema) -> pa.Table:
        monkeypatch.setattr(store, "_read_part", read_part)
        study.replace(NEW, config_yaml="")
        return read_part(path, schema)

    monkeypatch.setattr(store, "_read_part", replaced_meanwhile)
    assert rows_of(study) == NEW


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_disk_that_cannot_be_written_is_named_and_the_study_stays_as_it_was(
    study: StudyStore, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    before = visible_names(study)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, raising(OSError(code, os.strerror(code))))
        with pytest.raises(InputError) as caught:
            study.replace(NEW, config_yaml="new: true\n")
    assert str(study.folder) in str(caught.value)
    assert os.strerror(code) in str(caught.value)
    assert visible_names(study) == before
    assert rows_of(study) == OLD


def test_a_read_only_folder_fails_before_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_only = OSError(errno.EROFS, os.strerror(errno.EROFS))
    monkeypatch.setattr(tempfile, "TemporaryFile", raising(read_only))
    with pytest.raises(InputError, match=r"cannot write .*Read-only file system"):
        StudyStore.create(tmp_path, config_yaml="")


def test_a_file_in_the_place_of_the_folder_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "study").write_text("")
    with pytest.raises(InputError, match=r"study.*File exists"):
        StudyStore.create(tmp_path / "study", config_yaml="")
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
        study = StudyStore.create(folder, config_yaml="")
        part = study.write(OLD)
        content = part.read_bytes()
        part.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
        with pytest.raises(InputError) as caught:
            study.read_table()
        assert str(part) in str(caught.value)
        assert "delete it and run the sweep again" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_changed_byte_in_the_data_is_found(study: StudyStore) -> None:
    (part,) = study.parts()
    content = bytearray(part.read_bytes())
    content[content.index(b"llama70b")] ^= 1
    part.write_bytes(content)
    with pytest.raises(InputError, match="is corrupt"):
        study.read_table()


def test_a_corrupt_part_does_not_keep_a_sweep_from_running_again(study: StudyStore) -> None:
    study.parts()[0].write_bytes(b"PAR1")
    study.replace(NEW, config_yaml="")
    assert rows_of(study) == NEW


@pytest.mark.parametrize(
    ("footer", "message"),
    [
        ({"schema_version": "2"}, "has schema version 2, this program reads up to 1: use a newer one"),
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


def test_the_one_liners_of_the_readme_read_a_study(
    study: StudyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study.folder.parent.parent)
    study.replace([row(dp=32, tp=1, sp=2, wall_time_ns=3_206_889_878)], config_yaml="")
    study.write(NEW)
    frame = pd.read_parquet("results/llama70b-system1")
    assert sorted(frame["dp"]) == [4, 8, 8, 32]
    top = duckdb.sql(
        "select dp, tp, sp, wall_time_ns from 'results/llama70b-system1/*.parquet' "
        "where status='ok' order by wall_time_ns limit 5"
    )
    assert top.fetchall()[0] == (32, 1, 2, 3_206_889_878)
    assert len(top.fetchall()) == 3
