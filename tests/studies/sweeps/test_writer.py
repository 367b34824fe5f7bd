"""Rows reach the disk soon, whatever comes after them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow as pa
import pytest
from study_rows import keyed

from dse.base.errors import InputError
from dse.studies.store import StudyStore, as_rows
from dse.studies.sweeps import StudyWriter, writer


def degrees(store: StudyStore) -> list[int]:
    return [point.dp for point in as_rows(store.read_table())]


def wait_for_parts(store: StudyStore, count: int) -> None:
    deadline = time.monotonic() + 30
    while len(list(store.folder.glob("part-*"))) < count and time.monotonic() < deadline:
        time.sleep(0.01)


def test_rows_are_written_while_the_next_ones_take_long(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path)
    with StudyWriter(store, flush_s=0.02) as rows:
        for row in keyed(1, 2):
            rows.add(row)
        wait_for_parts(store, 1)
        assert set(degrees(store)) <= {1, 2}
        assert 1 in degrees(store)


def test_what_is_left_is_written_and_merged_at_the_end(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path)
    with StudyWriter(store, flush_s=0.02) as rows:
        for number, row in enumerate(keyed(4, 2, 1, 8)):
            rows.add(row)
            if number == 1:
                wait_for_parts(store, 1)
    assert degrees(store) == [1, 2, 4, 8]
    assert len(store.parts()) == 1
    assert rows.written == 4


def test_an_interrupted_sweep_keeps_its_rows(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path)

    def interrupted() -> None:
        with StudyWriter(store, flush_s=60) as rows:
            rows.add(keyed(1)[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert degrees(store) == [1]


def test_nothing_written_leaves_nothing(tmp_path: Path) -> None:
    with StudyWriter(StudyStore.create(tmp_path)):
        pass
    assert list(tmp_path.glob("part-*")) == []


def test_a_full_disk_ends_the_sweep_and_keeps_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = StudyStore.create(tmp_path)
    store.append(keyed(1))

    def full(_: int) -> None:
        raise OSError(28, os.strerror(28))

    def add_until_it_fails() -> None:
        with StudyWriter(store, flush_s=0.01) as rows:
            for row in keyed(*range(2, 2000)):
                rows.add(row)
                time.sleep(0.005)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match="No space left on device"):
            add_until_it_fails()
    assert degrees(store) == [1]
    assert len(list(tmp_path.glob("*part-*"))) == 1


def test_merging_that_fails_is_a_warning_since_every_row_is_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: StudyStore) -> None:
        raise InputError(f"cannot write {self.folder}: No space left on device")

    monkeypatch.setattr(StudyStore, "compact", refuse)
    with StudyWriter(StudyStore.create(tmp_path)) as rows:
        rows.add(keyed(1)[0])
    assert rows.warning.startswith("small parts were not merged: cannot write")
    assert degrees(StudyStore(tmp_path)) == [1]


def test_many_parts_are_merged_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "COMPACT_PARTS", 2)
    monkeypatch.setattr(writer, "FLUSH_ROWS", 5)
    store = StudyStore.create(tmp_path)
    with StudyWriter(store, flush_s=0.001) as rows:
        for row in keyed(*range(1, 200)):
            rows.add(row)
            time.sleep(0.001)
        assert len(list(store.folder.glob("part-*"))) < 20
    assert sorted(degrees(store)) == list(range(1, 200))


def test_rows_wait_for_a_slow_disk_so_that_memory_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    append = StudyStore.append

    def slow(self: StudyStore, rows: pa.Table) -> Path:
        written.append(rows.num_rows)
        time.sleep(0.01)
        return append(self, rows)

    monkeypatch.setattr(writer, "FLUSH_ROWS", 5)
    monkeypatch.setattr(StudyStore, "append", slow)
    store = StudyStore.create(tmp_path)
    with StudyWriter(store, flush_s=60) as rows:
        for row in keyed(*range(1, 61)):
            rows.add(row)
    assert max(written) <= 5
    assert sum(written) == 60
    assert sorted(degrees(store)) == list(range(1, 61))


def test_rows_that_wait_get_the_error_of_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: StudyStore, rows: pa.Table) -> Path:
        time.sleep(0.1)  # until others wait
        raise InputError(f"cannot write {self.folder}: {rows.num_rows} rows")

    def add_until_it_fails() -> None:
        with StudyWriter(StudyStore.create(tmp_path), flush_s=60) as rows:
            for row in keyed(*range(1, 9)):
                rows.add(row)

    monkeypatch.setattr(writer, "FLUSH_ROWS", 2)
    monkeypatch.setattr(StudyStore, "append", refuse)
    with pytest.raises(InputError, match="2 rows"):
        add_until_it_fails()
