"""Damaged parts of a study: one line that names the part and what to do, for every reader; no hang."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_lines import TINY, error_of, run_ok
from study_rows import keyed

from dse.base.errors import InputError
from dse.studies.store import StudyStore
from dse.studies.store.integrity import check_replacements

PART = f"part-{'0' * 32}.parquet"
OTHER = f"part-{'1' * 32}.parquet"
SPACE = ("space.dp=[16,8]", "space.tp=[1,2]", "space.sp=[1]", "space.pp=[1]", "study=s")
READERS = (
    *("best results/s", "best results/s top=3", "report results/s", "explain results/s --no-switches"),
    *("timeline results/s", "sensitivity results/s", "compare results/s results/sound"),
    *("compare results/sound results/s", "regret results/s truth=results/sound"),
    "regret results/sound truth=results/s",
)
RESUME = f"sweep {' '.join((*TINY, *SPACE))}"


def damage_footer(path: Path, replaces: bytes) -> None:
    table = pq.read_table(path)
    footer = {**table.schema.metadata, b"replaces": replaces}
    pq.write_table(table.replace_schema_metadata(footer), path)


def damage_column(path: Path, name: str, values: Callable[[list[Any]], list[Any]]) -> None:
    table = pq.read_table(path)
    index, metadata = table.schema.get_field_index(name), table.schema.metadata
    changed = pa.array(values(table[name].to_pylist()), table.schema.field(name).type)
    table = table.set_column(index, table.schema.field(name), changed)
    pq.write_table(table.replace_schema_metadata(metadata), path)


def first_as(value: Any) -> Callable[[list[Any]], list[Any]]:
    return lambda values: [value, *values[1:]]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("swept")
    run_ok("sweep", *TINY, *SPACE, cwd=folder)
    shutil.copytree(folder / "results" / "s", folder / "results" / "sound")
    return folder


@pytest.fixture
def folder(swept: Path, tmp_path: Path) -> Path:
    shutil.copytree(swept, tmp_path, dirs_exist_ok=True)
    return tmp_path


def part_of(folder: Path) -> Path:
    (part,) = StudyStore(folder / "results" / "s").parts()
    return part


@pytest.mark.parametrize(
    "replaces", [b"7", b"null", b"[" * 100_000, b"[1]", b'{"a":1}', b"\xff"], ids=lambda text: repr(text[:8])
)
def test_a_list_of_replaced_parts_that_is_none(tmp_path: Path, replaces: bytes) -> None:
    study = StudyStore.create(tmp_path)
    part = study.append(keyed(1, 2))
    damage_footer(part, replaces)
    for read in (study.read_table, study.keys, study.count, study.parts, study.compact):
        with pytest.raises(
            InputError, match=rf"{part.name} is corrupt .*its list of replaced parts.*move it away"
        ):
            read()


def test_parts_that_stand_for_each_other_lose_no_row(tmp_path: Path) -> None:
    study = StudyStore.create(tmp_path)
    for name, other in ((PART, OTHER), (OTHER, PART)):
        part = study.append(keyed(1, 2)).rename(tmp_path / name)
        damage_footer(part, json.dumps([other]).encode())
    for read in (study.read_table, study.keys, study.compact):
        with pytest.raises(
            InputError, match=r"is corrupt .it and part-.* stand for each other.: move it away"
        ):
            read()
    assert (tmp_path / PART).exists()
    assert (tmp_path / OTHER).exists()


def test_a_part_that_stands_for_itself(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{PART} is corrupt"):
        check_replacements(tmp_path, {PART: {PART}})


def test_long_chains_of_replaced_parts_are_sound(tmp_path: Path) -> None:
    names = [f"part-{number:032x}.parquet" for number in range(3000)]
    check_replacements(
        tmp_path, {name: {older, names[0]} - {name} for name, older in zip(names[1:], names, strict=False)}
    )


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("wall_time_ns", -5, "wall_time_ns is -5"),
        ("peak_memory_bytes", -1, "peak_memory_bytes is -1"),
        ("dp", 0, "dp is 0"),
        ("status", "fine", "status is 'fine'"),
        ("model_spec", "{", "model_spec is not JSON"),
        ("system_spec", "[" * 100_000, "system_spec is not JSON"),
        ("system_spec", "{}", "system_spec has no name"),
        ("options", "7", "options is no JSON object"),
    ],
)
def test_values_that_no_sweep_writes(folder: Path, column: str, value: Any, message: str) -> None:
    part = part_of(folder)
    damage_column(part, column, first_as(value))
    error = error_of("best", "results/s", cwd=folder)
    assert error.startswith(f"results/s/{part.name} is corrupt ({message}): move it away")
    study = StudyStore(folder / "results" / "s")
    with pytest.raises(InputError, match="is corrupt"):
        study.read_table()


@pytest.mark.parametrize("reader", [*READERS, RESUME])
def test_every_reader_refuses_a_negative_wall_time(folder: Path, reader: str) -> None:
    part = part_of(folder)
    damage_column(part, "wall_time_ns", first_as(-5))
    done = subprocess.run(
        [sys.executable, "-m", "dse", *reader.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith(("executor:", "note:"))]
    assert line.startswith(f"error: results/s/{part.name} is corrupt (wall_time_ns is -5): move it away")


def test_a_pipe_with_the_name_of_a_part_hangs_no_reader(folder: Path) -> None:
    os.mkfifo(folder / "results" / "s" / PART)
    os.mkfifo(folder / "results" / "s" / "_sweeps" / "0.yaml")
    for reader in ("best results/s", RESUME, "report results/s"):
        verb, *arguments = reader.split()
        error = error_of(verb, *arguments, cwd=folder)  # with a time limit
        assert error == (
            f"results/s/{PART} is no file but a pipe: "
            "delete it, or move it elsewhere, and run the sweep again"
        )
    (folder / "results" / "s" / PART).unlink()
    run_ok("report", "results/s", cwd=folder)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Path.mkdir, "is no file but a folder: delete it"),
        (lambda path: path.symlink_to("nowhere"), "is a link to nothing: delete it and run the sweep again"),
        (lambda path: path.symlink_to(path), "is a link that leads nowhere"),
        (lambda path: path.symlink_to("/dev/zero"), "is no file but a device: delete it"),
        (lambda path: path.touch(), "is corrupt"),
    ],
    ids=["folder", "dangling link", "link to itself", "device", "empty file"],
)
def test_what_only_has_the_name_of_a_part(tmp_path: Path, make: Callable[[Path], None], message: str) -> None:
    study = StudyStore.create(tmp_path)
    study.append(keyed(1, 2))
    make(tmp_path / PART)
    for read in (study.read_table, study.keys, lambda: StudyStore.create(tmp_path)):
        with pytest.raises(InputError, match=f"{PART} {message}"):
            read()


def test_a_link_to_a_part_is_a_part(tmp_path: Path) -> None:
    there, here = StudyStore.create(tmp_path / "there"), StudyStore.create(tmp_path / "here")
    part = there.append(keyed(1, 2))
    (here.folder / part.name).symlink_to(part)
    assert here.count() == 2
