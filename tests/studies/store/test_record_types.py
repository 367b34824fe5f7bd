"""A study holds rows of any type: written by two processes, killed, resumed, and read by a later release."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pyarrow.parquet as pq
import pytest
from link_loads import LOADS, LinkLoad, load

from dse.base.errors import InputError
from dse.studies.store import RecordType, StudyStore
from dse.studies.store.history import Unfinished, unfinished_sweep
from dse.studies.store.lookup import row_of_key
from dse.studies.store.records import count, size_bytes, text


@dataclass(frozen=True)
class LaterLoad:
    """`LinkLoad` in a release that knows several algorithms."""

    npus: Annotated[int, count("NPUs in the ring", least=2)]
    link: Annotated[str, text("name of the link")]
    carried_bytes: Annotated[int, size_bytes("bytes that cross it", least=0)]
    key: Annotated[str, text("hash of the inputs")]
    algorithm: Annotated[str, text("who sends", since=2, fill="ring", allowed=("ring", "tree"))] = "ring"


LATER = RecordType(name="link load", row=LaterLoad, order=("npus", "link", "key"))


def start(folder: Path, first: int, last: int, how: str) -> subprocess.Popen[str]:
    script = Path(__file__).with_name("link_loads.py")
    line = [sys.executable, str(script), str(folder), str(first), str(last), how]
    return subprocess.Popen(line, stdout=subprocess.PIPE, text=True)


def test_killed_processes_resume_beside_others_and_lose_and_double_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "loads"
    assert start(folder, 2, 402, "dies").wait() == -signal.SIGKILL
    store = StudyStore(folder, LOADS)
    assert store.keys() == {load(npus).key for npus in range(2, 202)}
    assert unfinished_sweep(store) == Unfinished(planned=400, missing=200)

    killed, resumed = start(folder, 302, 702, "dies"), start(folder, 2, 402, "ends")
    assert int(resumed.communicate()[0]) <= 200  # what the first one stored is not written again
    assert (resumed.returncode, killed.wait()) == (0, -signal.SIGKILL)

    both = [start(folder, 302, 702, "ends"), start(folder, 602, 802, "ends")]
    written = [int(process.communicate()[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert written[0] <= 200
    assert sorted(store.rows(), key=lambda row: row.npus) == [load(npus) for npus in range(2, 802)]
    assert unfinished_sweep(store) is None
    assert len(store.sweeps()) == 5

    store.compact()
    assert len(store.parts()) == 1
    assert store.rows() == [load(npus) for npus in range(2, 802)]  # sorted by the order of the type
    assert row_of_key(store, load(4).key[:12]) == LinkLoad(4, "0-1", 1_572_864, load(4).key)


def test_a_type_that_gained_a_column_reads_and_continues_what_is_older(tmp_path: Path) -> None:
    StudyStore.create(tmp_path, LOADS).append([load(2), load(4)])
    store = StudyStore.create(tmp_path, LATER)
    assert [(row.carried_bytes, row.algorithm) for row in store.rows()] == [
        (1_048_576, "ring"),
        (1_572_864, "ring"),
    ]
    assert store.keys() == {load(2).key, load(4).key}
    store.append([LaterLoad(8, "0-1", 2_097_152, "f" * 32, "tree")])
    store.compact()
    assert [row.algorithm for row in store.rows()] == ["ring", "ring", "tree"]
    with pytest.raises(InputError, match="has schema version 2, this program reads up to 1: use a newer one"):
        StudyStore(tmp_path, LOADS).rows()


def test_rows_of_two_types_do_not_share_a_folder(tmp_path: Path) -> None:
    StudyStore.create(tmp_path, LOADS).append([load(2)])
    for refused in (StudyStore(tmp_path).keys, lambda: StudyStore.create(tmp_path)):
        with pytest.raises(
            InputError,
            match="has rows of type link load, and this answers about those of type point only: name",
        ):
            refused()


def test_of_two_rows_with_one_key_one_is_read(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path, LOADS)
    store.append([load(2), load(4)])
    store.append([load(4), load(8)])
    assert sorted(row.npus for row in store.rows()) == [2, 4, 8]


def test_values_that_no_writer_stores_tell_of_a_damaged_part(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path, LATER)
    part = store.append([LaterLoad(2, "0-1", 7, "0" * 32)])
    good = pq.read_table(part)
    for name, value, message in (("npus", 1, "npus is 1"), ("algorithm", "magic", "algorithm is 'magic'")):
        index = good.schema.get_field_index(name)
        bad = good.set_column(index, good.schema.field(name), [[value]])
        pq.write_table(bad, part)
        with pytest.raises(InputError, match=rf"is corrupt \({message}\)"):
            store.rows()
