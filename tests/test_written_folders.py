"""Folders that commands write: all files of a new content, or the older content as it was."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_lines import run_dse, run_ok

from dse.base import files
from dse.base.errors import InputError
from dse.base.files import write_files

OLD = {"a.txt": b"old a", "b.txt": b"old b", "gone.txt": b"old", "below/c.txt": b"old c"}
NEW = {"a.txt": b"new a", "b.txt": b"new b", "fresh.txt": b"new", "below/c.txt": b"new c", "in/d.txt": b"new"}


def content(folder: Path) -> dict[str, bytes]:
    """All files below a folder, hidden ones too, and empty folders as names that end in /."""
    return {
        f"{path.relative_to(folder)}{'/' * path.is_dir()}": b"" if path.is_dir() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() or not any(path.iterdir())
    }


def failing_at(number: int, calls: list[str], real: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function of `os` whose call of this number, counted over all, finds the disk full."""

    def call(*arguments: Any, **options: Any) -> Any:
        calls.append(name)
        if len(calls) == number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments, **options)

    return call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_files(tmp_path / "deep" / "out", OLD.items())
    return tmp_path / "deep" / "out"


def test_new_files_take_the_place_of_old_ones_and_obsolete_ones_go(folder: Path) -> None:
    paths = write_files(folder, NEW.items(), ["gone.txt", "a.txt", "never.txt", "never/there.txt"])
    assert content(folder) == NEW
    assert paths == [folder / name for name in NEW]


def test_a_folder_that_only_had_obsolete_files_goes_with_them(folder: Path) -> None:
    write_files(folder, {"a.txt": b"new"}.items(), ["below/c.txt"])
    assert content(folder) == {"a.txt": b"new", "b.txt": b"old b", "gone.txt": b"old"}


@pytest.mark.parametrize("is_new", [False, True], ids=["over an older content", "new"])
def test_a_full_disk_at_any_moment_changes_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    target = tmp_path / "new" / "out" if is_new else folder
    before, failed = content(tmp_path), 0
    for number in range(1, 100):
        calls: list[str] = []
        with monkeypatch.context() as patch:
            for name in ("fsync", "replace"):
                patch.setattr(files.os, name, failing_at(number, calls, getattr(os, name), name))
            try:
                write_files(target, NEW.items(), ["gone.txt"])
                break
            except InputError as error:
                message = str(error)
        failed += 1
        assert content(tmp_path) == before
        assert message.startswith(f"cannot write {target}: No space left on device; free or unlock")
    assert content(target) == NEW
    assert failed == len(NEW) + len(NEW) + 1  # a file is written, takes its place, and the folder is kept


def test_what_makes_the_files_may_fail_too(folder: Path) -> None:
    def broken() -> Iterator[tuple[str, bytes]]:
        yield "a.txt", b"new"
        raise InputError("no second file")

    with pytest.raises(InputError, match="no second file"):
        write_files(folder, broken())
    assert content(folder) == OLD


def test_a_folder_with_the_name_of_a_file_is_said_before_anything_changes(folder: Path) -> None:
    (folder / "fresh.txt").mkdir()
    with pytest.raises(InputError, match=r"cannot write .*/fresh\.txt: Is a directory"):
        write_files(folder, NEW.items())
    assert content(folder) == {**OLD, "fresh.txt/": b""}


def test_a_link_is_replaced_and_what_it_leads_to_stays(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_bytes(b"kept")
    (folder / "fresh.txt").symlink_to(tmp_path / "kept.txt")
    write_files(folder, NEW.items())
    assert (tmp_path / "kept.txt").read_bytes() == b"kept"
    assert not (folder / "fresh.txt").is_symlink()


def test_a_synthesis_that_cannot_be_written_leaves_the_older_one(tmp_path: Path) -> None:
    line = ("topology=ring__dim=[6]", "trials=1", "-o", "out")
    run_ok("synthesize", *line, "collective=all_gather", "failed_links=0-1", cwd=tmp_path)
    before = content(tmp_path / "out")
    assert "repaired/schedule.csv" in before
    (tmp_path / "out" / "schedule.xml").mkdir()  # in the way of an export
    done = run_dse("synthesize", *line, "collective=all_reduce", "export=[msccl]", cwd=tmp_path)
    assert done.code == 2
    assert done.err.startswith("error: cannot write out/schedule.xml: Is a directory; ")
    assert content(tmp_path / "out") == {**before, "schedule.xml/": b""}
    run_ok("synthesize", *line, "collective=all_reduce", cwd=tmp_path)
    assert not (tmp_path / "out" / "repaired").exists()
