"""Several collectives at once, as a JSON file lists them: groups, sizes, priorities; chunks of one size."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from dse.base.errors import InputError, excerpt
from dse.base.settings import check_whole
from dse.base.units import parse_bytes
from dse.collectives.problem.collective import COLLECTIVES, CUSTOM, MOST_CHUNKS, ROOTED, Collective, Part
from dse.collectives.problem.demands import checked_group

LIST = "collectives"
"""The key of a file that lists several."""

_KEYS = ("collective", "group", "root", "chunks_per_npu", "operation_bytes", "priority")
_PIECES = 8
"""A chunk is at least such a part of the largest piece: small collectives do not cut large ones fine."""
_MOST_PRIORITY = 1000


class _Entry(NamedTuple):
    """An entry of the list: a part with the chunks that it asks for, or the bytes that are to be cut."""

    part: Part
    operation_bytes: int | None


def several_of(
    path: Path, entries: Any, npus: int, chunk_bytes: Fraction | None, default_bytes: int
) -> tuple[Collective, Fraction, int, int]:
    """Return the collective of a list, and the bytes of a chunk, of all operations, and of padding.

    Where no size of a chunk is given, it is the smallest piece that an NPU has of an operation, but no less
    than an eighth of the largest one.

    Raises:
        InputError: names the file, the entry and its key.
    """
    if not isinstance(entries, list) or len(entries) < 2:
        raise InputError(f"{path}: {LIST} is {excerpt(entries)}; it must be a list of at least 2 objects")
    found = [_entry(f"{path}: {LIST} {number}: ", entry, npus) for number, entry in enumerate(entries, 1)]
    pieces = [-(-entry.operation_bytes // _pieces(entry.part)) for entry in found if entry.operation_bytes]
    if chunk_bytes is None:
        least = max(min(pieces), -(-max(pieces) // _PIECES)) if pieces else default_bytes
        chunk_bytes = Fraction(least)
    parts, asked, sent = [], 0, Fraction(0)
    for part, size in found:
        if size is not None:
            whole = chunk_bytes * _pieces(part)
            part = part._replace(chunks_per_npu=int(-(-size // whole)))
            asked, sent = asked + size, sent + part.chunks_per_npu * whole
        parts.append(part)
    chunks = sum(part.collective.chunks for part in parts)
    if chunks >= MOST_CHUNKS >> 4:
        raise InputError(
            f"{path}: chunks of {float(chunk_bytes):g} bytes are {chunks}; write a larger chunk_bytes"
        )
    return Collective(CUSTOM, npus, parts=tuple(parts)), chunk_bytes, asked, int(sent - asked)


def _pieces(part: Part) -> int:
    """How many chunks an operation is cut into at least."""
    return 1 if part.name in ("all_gather", "broadcast", "reduce") else len(part.group)


def _entry(where: str, entry: Any, npus: int) -> _Entry:
    if not isinstance(entry, dict):
        raise InputError(f'{where}is {excerpt(entry)}; it must be an object such as {{"group": [0, 1]}}')
    for key in entry:
        if key not in _KEYS:
            raise InputError(f"{where}unknown key {excerpt(key)}; allowed are {', '.join(_KEYS)}")
    name = entry.get("collective")
    if name not in COLLECTIVES:
        raise InputError(f"{where}collective is {excerpt(name)}; allowed are {', '.join(COLLECTIVES)}")
    listed = entry.get("group", list(range(npus)))
    if not isinstance(listed, list):
        raise InputError(f"{where}group is {excerpt(listed)}; it must be a list of NPUs such as [0, 1]")
    group = checked_group([check_whole(f"{where}group", npu, 0, npus - 1) for npu in listed], where)
    part = Part(
        name,
        group,
        check_whole(f"{where}chunks_per_npu", entry.get("chunks_per_npu", 1), 1, MOST_CHUNKS),
        _root(where, entry, name, group),
        check_whole(f"{where}priority", entry.get("priority", 0), 0, _MOST_PRIORITY),
    )
    if "operation_bytes" not in entry:
        return _Entry(part, None)
    if "chunks_per_npu" in entry:
        raise InputError(f"{where}operation_bytes says how many chunks there are; leave chunks_per_npu out")
    return _Entry(part, _size_bytes(f"{where}operation_bytes", entry["operation_bytes"]))


def _root(where: str, entry: dict[str, Any], name: str, group: Sequence[int]) -> int:
    if "root" not in entry:
        return 0
    if name not in ROOTED:
        raise InputError(f"{where}root has no effect on {name}; only {', '.join(ROOTED)} have one")
    if entry["root"] not in group:
        raise InputError(f"{where}root is {excerpt(entry['root'])}; it must be one of {sorted(group)}")
    return group.index(entry["root"])


def _size_bytes(where: str, value: Any) -> int:
    if not isinstance(value, str):
        return check_whole(where, value, 1, 10**18)
    is_number = value.isascii() and value.isdecimal() and len(value) <= 18
    return check_whole(where, int(value) if is_number else parse_bytes(value, where), 1, 10**18)
