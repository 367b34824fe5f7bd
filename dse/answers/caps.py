"""The memory cap under which a study is asked: that of an option, or else that of its sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dse.answers.groups import Group
from dse.answers.selection import finished_points
from dse.base.errors import InputError
from dse.base.lazy import pa, pc
from dse.base.units import format_bytes, parse_bytes
from dse.inputs.systems.fields import DEFAULT_MEMORY_BYTES
from dse.inputs.systems.values import memory_of_spec
from dse.studies.store import StudyStore
from dse.studies.store.history import sweep_caps


@dataclass(frozen=True)
class Cap:
    """A cap in bytes, None for none; whether an option asked for it; and what people should know of it.

    With `by_system` it is the memory of an NPU, which differs among systems, and `size_bytes` does not count.
    """

    size_bytes: int | None
    is_asked: bool = False
    note: str = ""
    by_system: bool = False


BY_SYSTEM = Cap(DEFAULT_MEMORY_BYTES, by_system=True)
"""The cap where none is chosen."""


def study_cap(asked: Cap | None, *stores: StudyStore) -> Cap:
    """Return the cap that an option asked for, or else that of the latest sweep of these studies."""
    if asked is not None:
        return asked
    caps = sweep_caps(*stores)
    if not caps:
        return BY_SYSTEM
    latest = BY_SYSTEM if caps[-1] is None else Cap(caps[-1])
    different = [_words(cap) for cap in sorted(set(caps), key=lambda cap: cap or 0)]
    if len(different) == 1:
        return latest
    return replace(
        latest,
        note=f"there were sweeps with memory caps of {' and '.join(different)}; this is the cap of the "
        f"latest, {_words(caps[-1])}: memory_cap asks for another",
    )


def _words(cap: int | None) -> str:
    return "the accelerator's memory" if cap is None else cap_words(cap)


def _size(group: Group, cap: Cap) -> int | None:
    """The cap of a group; of several memories in one question the smallest."""
    if not cap.by_system:
        return cap.size_bytes
    specs = (
        group.table["system_spec"].unique().to_pylist() if "system_spec" in group.table.column_names else []
    )
    return min(map(memory_of_spec, specs), default=cap.size_bytes)


def apply_cap(found: Sequence[Group], cap: Cap) -> tuple[list[int | None], list[str]]:
    """Return the cap of each group, None where memory is not tracked, and notes for people.

    Raises:
        InputError: an option asks for a cap, and memory is tracked nowhere.
    """
    if cap.size_bytes is None:
        return [None] * len(found), []
    peaks = [group.table["peak_memory_bytes"].take(finished_points(group.table)) for group in found]
    untracked = [len(column) > 0 and column.null_count == len(column) for column in peaks]
    if not any(untracked):
        return [_size(group, cap) for group in found], [cap.note] if cap.note else []
    everywhere = all(blind or not len(column) for blind, column in zip(untracked, peaks, strict=True))
    if everywhere and cap.is_asked:
        raise InputError(
            "memory_cap needs peak memories, and no point has one, because system.track_local_memory is "
            "off: turn it on and sweep again, or leave memory_cap out"
        )
    where = "" if everywhere else _titles(found, untracked)
    notes = [f"system.track_local_memory is off, so the memory cap is ignored{where}"]
    if cap.note and not everywhere:
        notes.append(cap.note)
    return [
        None if blind else _size(group, cap) for group, blind in zip(found, untracked, strict=True)
    ], notes


def fitting_rows(table: pa.Table, memory_cap_bytes: int | None) -> pa.Table:
    """Return the rows whose peak memory is known and at most the cap; all of them without a cap."""
    if memory_cap_bytes is None:
        return table
    return table.filter(pc.less_equal(table["peak_memory_bytes"], memory_cap_bytes))


def _titles(found: Sequence[Group], untracked: Sequence[bool]) -> str:
    titles = [group.title for group, blind in zip(found, untracked, strict=True) if blind]
    return f" for {', '.join(titles)}"


def under(limit: int | None) -> str:
    """Say which cap, if any."""
    return "without a memory cap" if limit is None else f"under {cap_words(limit)}"


def cap_words(size_bytes: int, *, exact: bool = False) -> str:
    """Return a cap as people write it, such as 80 GB, 80 GiB or 96.47 MB; in bytes if `exact`."""
    if exact:
        return f"{size_bytes} bytes"
    rounded = format_bytes(size_bytes)
    number, _, unit = rounded.partition(" ")
    if parse_bytes(rounded) == size_bytes:
        return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"
    return rounded if size_bytes % 2**30 else f"{size_bytes >> 30} GiB"


def nothing_fits(points: pa.Table, limit: int | None) -> str:
    """Say why a list of points is empty."""
    smallest = pc.min(points["peak_memory_bytes"]).as_py()
    if limit is None or smallest is None:
        return "no point is ok"
    return f"nothing fits under {cap_words(limit)}: the smallest peak memory is {format_bytes(smallest)}"
