"""Small parts of a study are merged; no crash, reader or second process loses or doubles a row."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stored_study import NEW, OLD, raising, rows_of, stored_study, visible_names
from study_rows import keyed

from dse.studies.store import (
    StudyStore,
    as_table,
    parts,
    snapshot,
    store,
)


@pytest.fixture
def study(tmp_path: Path) -> StudyStore:
    return stored_study(tmp_path)


def test_compaction_merges_small_parts_in_a_fixed_order(study: StudyStore) -> None:
    study.append(keyed(16, 4))
    study.append(keyed(8))
    study.compact()
    assert [point.dp for point in rows_of(study)] == [1, 2, 4, 8, 16]
    (part,) = study.parts()
    assert visible_names(study) == [part.name]
    study.compact()
    assert study.parts() == [part]


def test_compaction_drops_what_is_stored_twice(study: StudyStore) -> None:
    study.append(keyed(2, 3))
    study.compact()
    assert pq.read_metadata(study.parts()[0]).num_rows == 3


def test_compaction_leaves_large_parts_alone(study: StudyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LARGE_PART_ROWS", 3)
    large = study.append(keyed(4, 8, 16))
    study.append(keyed(32))
    study.compact()
    assert large in study.parts()
    assert len(study.parts()) == 2


def test_compaction_interrupted_before_the_rename_leaves_the_study(
    study: StudyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.append(NEW)
    before = visible_names(study)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", raising(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            study.compact()
    assert visible_names(study) == before
    assert len(rows_of(study)) == 5


def test_compaction_interrupted_after_the_rename_shows_every_row_once_and_cleans_up_later(
    study: StudyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.append(NEW)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", raising(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            study.compact()
    assert len(visible_names(study)) == 3
    assert len(study.parts()) == 1
    assert len(rows_of(study)) == 5
    study.append(keyed(64))
    study.compact()
    assert len(visible_names(study)) == 1
    assert len(rows_of(study)) == 6


def test_leftovers_of_a_crash_and_foreign_files_are_ignored(study: StudyStore) -> None:
    leftover = study.folder / f".part-{'0' * 32}.parquet.{'1' * 32}.tmp"
    leftover.write_bytes(b"PAR1 half a part")
    (study.folder / ".hydra").mkdir()
    assert len(pd.read_parquet(study.folder)) == 2
    assert duckdb.sql(f"select count(*) from '{study.folder}/*.parquet'").fetchall() == [(2,)]
    pq.write_table(as_table(NEW), study.folder / "mine.parquet")
    (study.folder / "part-notes.parquet").write_text("not ours")
    assert rows_of(study) == OLD


def test_a_reader_overtaken_by_a_compaction_reads_every_row(
    study: StudyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.append(NEW)
    read_part = parts.read_part

    def merged_meanwhile(part: parts.PartFooter, record: parts.AnyRecord, schema: pa.Schema) -> pa.Table:
        monkeypatch.setattr(snapshot, "read_part", read_part)
        study.compact()
        return read_part(part, record, schema)

    monkeypatch.setattr(snapshot, "read_part", merged_meanwhile)
    assert sorted(point.dp for point in rows_of(study)) == [1, 2, 4, 8, 8]
    assert len(study.parts()) == 1


def test_a_listing_overtaken_by_a_compaction_is_taken_again(
    study: StudyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.append(NEW)
    read_footer = parts.read_footer

    def merged_meanwhile(path: Path, record: parts.AnyRecord) -> parts.PartFooter:
        monkeypatch.setattr(store, "read_footer", read_footer)
        study.compact()
        return read_footer(path, record)

    monkeypatch.setattr(store, "read_footer", merged_meanwhile)
    assert study.count() == 5


def test_a_second_compaction_at_the_same_time_loses_and_doubles_nothing(
    study: StudyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.append(NEW)
    write_part = parts.write_part

    def other_process_first(*arguments: Any) -> Path:
        monkeypatch.setattr(store, "write_part", write_part)
        StudyStore(study.folder).compact()
        study.append(keyed(64))
        return write_part(*arguments)

    monkeypatch.setattr(store, "write_part", other_process_first)
    study.compact()
    assert sorted(point.dp for point in rows_of(study)) == [1, 2, 4, 8, 8, 64]
    study.compact()
    assert len(visible_names(study)) == 1
    assert sorted(point.dp for point in rows_of(study)) == [1, 2, 4, 8, 8, 64]
