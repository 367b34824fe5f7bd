"""The history in `_sweeps/` of a study: its sweeps' memory caps, and what unfinished ones had planned."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dse.base.errors import InputError
from dse.base.files import make_folder, write_atomically
from dse.base.plain_data import read_yaml
from dse.base.units import parse_bytes
from dse.studies.store.store import SWEEPS_FOLDER, StudyStore

_ENDING = ".unfinished"
_DIGITS = 16  # of each key: 2^64, so that a million points differ
KEY_BYTES = _DIGITS // 2


class StoredSweep(NamedTuple):
    """The facts on a sweep in a file of provenance. What it does not say is None or empty."""

    started: str | None
    command: tuple[str, ...]
    planned: int | None
    versions: Mapping[str, Any]
    machine: Mapping[str, Any]
    configuration: Mapping[str, Any]


@dataclass(frozen=True)
class Unfinished:
    """The planned points of an interrupted or still running sweep; None where it proposes as it goes."""

    planned: int | None
    missing: int | None

    def sentence(self) -> str:
        """The news for people."""
        if self.planned is None or self.missing is None:
            return "the last search has not ended: run the same sweep again"
        return (
            f"{self.planned - self.missing} of {self.planned} points; {self.missing} missing: "
            "run the same sweep again"
        )


def sweep_caps(*stores: StudyStore[Any]) -> list[int | None]:
    """The memory caps of the sweeps of studies in bytes, the latest last, where they are known.

    None is the memory of the accelerator of a system.
    """
    caps: list[int | None] = []
    for path in _by_time(path for store in stores for path in store.sweeps()):
        configuration = stored_configuration(path)
        if "memory_cap" in configuration and configuration["memory_cap"] is None:
            caps.append(None)
            continue
        with contextlib.suppress(InputError):
            caps.append(parse_bytes(str(configuration.get("memory_cap"))))
    return caps


def latest_objective(store: StudyStore[Any]) -> str:
    """The objective of the latest sweep of a study; the step where none says another."""
    for path in reversed(_by_time(store.sweeps())):
        configuration = stored_configuration(path)
        if "objective" in configuration:
            return str(configuration["objective"])
    return "step"


def plan_sweep(store: StudyStore[Any], name: str, configuration: str, keys: bytes | None) -> Path:
    """Store what a sweep is about to do, until `finish_sweep`; `keys` as `key_digits`, None if unknown.

    Raises:
        InputError: the folder cannot be written, or the disk is full.
    """
    path = store.folder / SWEEPS_FOLDER / f"{name}{_ENDING}"
    make_folder(path.parent)
    write_atomically(path, _identity(configuration) + b"\n" + (keys or b""))
    return path


def key_digits(key: str) -> bytes:
    """The digits of a key that a plan has."""
    return bytes.fromhex(key[:_DIGITS])


def finish_sweep(store: StudyStore[Any], configuration: str, keys: Collection[str]) -> None:
    """Remove the plans that a sweep which has ended makes obsolete; `keys` are those of the study now.

    They are its own, that of the same sweep when it was interrupted, and those of which nothing is missing.
    """
    plans = _plans(store)
    stored = _stored_digits(keys) if len(plans) > 1 else set()
    for path in plans:
        with contextlib.suppress(OSError):
            identity, _, planned = path.read_bytes().partition(b"\n")
            if identity == _identity(configuration) or (planned and _digits(planned) <= stored):
                path.unlink(missing_ok=True)


def unfinished_sweep(store: StudyStore[Any]) -> Unfinished | None:
    """Planned points of the latest sweep that the study lacks; None if it has ended, or nothing is known.

    Raises:
        InputError: as `StudyStore.keys`.
    """
    plans, sweeps = _plans(store), _by_time(store.sweeps())
    if not plans or not sweeps or plans[-1].stem != sweeps[-1].stem:
        return None
    try:
        keys = plans[-1].read_bytes().partition(b"\n")[2]
    except OSError:
        return None
    if not keys:
        return Unfinished(None, None)
    planned = _digits(keys)
    missing = planned - _stored_digits(store.keys())
    return Unfinished(len(planned), len(missing)) if missing else None


def _digits(planned: bytes) -> set[bytes]:
    return {planned[start : start + KEY_BYTES] for start in range(0, len(planned), KEY_BYTES)}


def _stored_digits(keys: Iterable[str | None]) -> set[bytes]:
    return {key_digits(key) for key in keys if key is not None}


def _plans(store: StudyStore[Any]) -> list[Path]:
    return _by_time((store.folder / SWEEPS_FOLDER).glob(f"*{_ENDING}"))


def _by_time(paths: Iterable[Path]) -> list[Path]:
    """By the time in their names; those of one time by when they were written."""
    dated = []
    for path in paths:
        with contextlib.suppress(OSError):
            dated.append((path.name.partition("-")[0], path.stat().st_mtime_ns, path.name, path))
    return [path for *_, path in sorted(dated)]


def _identity(configuration: str) -> bytes:
    return hashlib.sha256(configuration.encode()).hexdigest().encode()


def stored_sweep(path: Path) -> StoredSweep:
    """Return what a file of provenance, of `StudyStore.sweeps`, says; others may have changed it.

    Raises:
        InputError: it cannot be read, or holds something else.
    """
    about = read_yaml(path)
    if not isinstance(about, dict):
        raise InputError(f"{path}: must hold keys and values, as dse sweep writes them")
    started, command = about.get("started"), about.get("command")
    planned = _group(about, "points").get("planned")
    return StoredSweep(
        None if started is None else str(started),
        tuple([str(word) for word in command]) if isinstance(command, list) else (),
        planned if type(planned) is int else None,
        _group(about, "versions"),
        _group(about, "machine"),
        _group(about, "configuration"),
    )


def stored_configuration(path: Path) -> Mapping[str, Any]:
    """Return the configuration in a file of provenance; empty if it cannot be read."""
    try:
        return stored_sweep(path).configuration
    except InputError:
        return {}


def _group(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = values.get(key)
    return found if isinstance(found, dict) else {}
