"""What `_sweeps/` of a study says of its sweeps: their memory caps, and what unfinished ones had planned."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.errors import InputError
from dse.files import make_folder, write_atomically
from dse.studies.store import SWEEPS_FOLDER, StudyStore
from dse.units import parse_bytes

_ENDING = ".unfinished"
_DIGITS = 16  # of each key: 2^64, so that a million points are told apart
_KEY_BYTES = _DIGITS // 2


@dataclass(frozen=True)
class Unfinished:
    """What a sweep that was interrupted, or still runs, had planned; None where it proposes as it goes."""

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
        configuration = _configuration(path)
        if "memory_cap" in configuration and configuration["memory_cap"] is None:
            caps.append(None)
            continue
        with contextlib.suppress(InputError):
            caps.append(parse_bytes(str(configuration.get("memory_cap"))))
    return caps


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
    """What a plan has of a key."""
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
    """What the latest sweep had planned and the study lacks; None if it has ended, or nothing is known.

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
    return {planned[start : start + _KEY_BYTES] for start in range(0, len(planned), _KEY_BYTES)}


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


def _configuration(path: Path) -> dict[str, Any]:
    """The configuration in a file of provenance; empty if it cannot be read."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        about = yaml.load(path.read_text(encoding="utf-8"), loader)
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    found = about.get("configuration") if isinstance(about, dict) else None
    return found if isinstance(found, dict) else {}
