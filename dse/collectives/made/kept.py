"""Schedules on disk, so that other processes need not make them again: by content, checked when read."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import lzma
import os
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from dse.base.errors import InputError
from dse.base.files import read_bytes, write_atomically
from dse.base.lazy import _engine, np
from dse.collectives.check.checker import check
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule

VARIABLE = "DSE_CACHE"
"""The variable of the environment that names the folder; `off`: nothing is kept."""

MOST_BYTES = 1 << 30
"""What the folder may take; the files that were used least lately go first."""

_SUFFIX = ".schedules"
_DIGEST_BYTES = 32
_COLUMNS = {"link": "int32", "chunk": "int32", "start_ps": "int64", "reduce": "bool"}
# What makes schedules: in the package, and the modules of the engine.
_SOURCES = (
    "collectives",
    "inputs/networks",
    "base/solvers.py",
)
_ENGINES = ("dse.native._engine", "dse.native._solvers")
_DAMAGED = (
    *(ValueError, KeyError, IndexError, TypeError, OverflowError, EOFError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, InputError),
)


class Solved(NamedTuple):
    """A schedule, and the lower bound on its time."""

    schedule: Schedule
    bound_ps: int


def folder() -> Path | None:
    """Where schedules are kept: `$DSE_CACHE`, or `dse` in the user's folder of caches; None means nowhere."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen == "off":
        return None
    try:
        if chosen:
            return Path(chosen).expanduser().absolute() / "schedules"
        caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (caches if caches.is_absolute() else Path.home() / ".cache") / "dse" / "schedules"
    except RuntimeError:  # there is no home
        return None


def key_of(inputs: object) -> str:
    """Return the name under which schedules are kept: a hash of what they are made from, and by what code."""
    text = json.dumps([code_digest(), inputs], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def code_digest() -> str:
    """A hash of all code that makes schedules, so that a changed search never meets older ones.

    Raises:
        InputError: the solvers are not built.
    """
    import_module("dse.base.solvers")  # also loads both engines
    package = Path(__file__).parents[2]
    text = hashlib.sha256(f"{_engine.RESULT_VERSION} numpy {np.__version__}".encode())
    for source in _SOURCES:
        place = package / source
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            text.update(f"\n{path.relative_to(package)}\n".encode() + path.read_bytes())
    for name in _ENGINES:
        text.update(Path(str(sys.modules[name].__file__)).read_bytes())
    return text.hexdigest()


def read(key: str, problem_of: Callable[[int, int], Problem]) -> list[Solved] | None:
    """Return what is kept under a key. None means nothing, or a damaged or invalid schedule.

    `problem_of` makes the problem of a number of chunks an NPU and a chunk's bytes, or raises ValueError.
    """
    place = folder()
    if place is None:
        return None
    path = place / f"{key}{_SUFFIX}"
    try:
        found = list(_unpacked(key, read_bytes(path, MOST_BYTES), problem_of))
    except _DAMAGED:
        return None
    if not found:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # so that it goes last
    return found


def write(key: str, solved: Sequence[Solved]) -> None:
    """Keep schedules under a key, for all processes; where nothing can be written nothing is kept."""
    place = folder()
    if place is None:
        return
    data = _packed(key, solved)
    if len(data) > MOST_BYTES:
        return
    with contextlib.suppress(OSError, InputError):
        place.mkdir(parents=True, exist_ok=True)
        write_atomically(place / f"{key}{_SUFFIX}", data)
        _make_room(place)


def _packed(key: str, solved: Sequence[Solved]) -> bytes:
    about = [
        (
            each.schedule.problem.collective.chunks_per_npu,
            int(each.schedule.problem.chunk_bytes),
            each.bound_ps,
        )
        for each in solved
    ]
    columns = {
        f"{name}_{number}": getattr(each.schedule, name)
        for number, each in enumerate(solved)
        for name in _COLUMNS
    }
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, about=np.array(about, dtype=np.int64), **columns)
    return _digest(key, content.getvalue()) + content.getvalue()


def _unpacked(key: str, data: bytes, problem_of: Callable[[int, int], Problem]) -> Iterator[Solved]:
    """Yield the schedules of a file's content.

    Raises:
        ValueError, KeyError, …: it is cut, damaged, or has a schedule that does not solve its problem.
    """
    digest, content = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if digest != _digest(key, content):
        raise ValueError("its content is not what was written")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        for number, (chunks, chunk_bytes, bound_ps) in enumerate(arrays["about"].tolist()):
            columns = [arrays[f"{name}_{number}"] for name in _COLUMNS]
            if [str(column.dtype) for column in columns] != list(_COLUMNS.values()):
                raise ValueError("its columns are of other types")
            schedule = Schedule(problem_of(chunks, chunk_bytes), *columns)
            if not check(schedule, most=1).is_valid or not 0 <= bound_ps <= schedule.time_ps:
                raise ValueError("a schedule does not solve its problem")
            yield Solved(schedule, bound_ps)


def _digest(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + content).digest()


def _make_room(place: Path) -> None:
    """Remove what was used least lately of the schedules, until they take no more than they may."""
    files = []
    for path in place.glob(f"*{_SUFFIX}"):
        with contextlib.suppress(OSError):  # another process makes room too
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                files.append((status.st_mtime_ns, status.st_size, path))
    taken = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if taken <= MOST_BYTES:
            break
        with contextlib.suppress(OSError):
            path.unlink()
            taken -= size
