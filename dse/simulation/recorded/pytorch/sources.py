"""The files of a recorded step, found by their content, and the JSON objects in them."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.files import read_bytes

MOST_BYTES = 2**30
"""Of a JSON file, unpacked: as Python objects it takes about eight times as much memory."""

_EVENT_NAME = re.compile(
    rb'(?<="name": ")(?:(?!", "(?:ph|cat|name|ts|dur|tid|id|args)": )[^\n]){0,10000}?(?=", "pid": )'
)
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_KNOWN_ESCAPES = b'"\\/bfnrtu'
_HEAD_BYTES = 2**16
_GZIP = b"\x1f\x8b"
_KINETO_WORDS = (b'"traceEvents"', b'"deviceProperties"', b'"distributedInfo"')


class Source(Enum):
    """The program that wrote a file; the value is how messages call the file."""

    EXECUTION_TRACE = "an execution trace"
    KINETO = "a Kineto trace"
    LINKED = "an execution trace linked by chakra_trace_link"
    CHAKRA = "a trace of mlc-chakra"


def is_recorded(path: Path) -> bool:
    """Return whether a file holds a recorded step, or a part of one; False where it cannot be read."""
    return source_of(path) is not None


def source_of(path: Path) -> Source | None:
    """Return the source of a file by its first bytes; None for any other file."""
    head = _head_of(path)
    if head.lstrip()[:1] == b"{":
        if b'"schemaVersion"' in head or any(word in head for word in _KINETO_WORDS):
            return Source.KINETO
        if b'"schema"' in head and b'"nodes"' in head:
            return Source.LINKED if b'"exclusive_dur"' in head else Source.EXECUTION_TRACE
        return None
    return Source.CHAKRA if b"\x05rf_id" in head else None


def files_of(paths: Sequence[Path]) -> dict[Source, list[Path]]:
    """Return the files by their source; of folders those that are a part of a recorded step.

    Raises:
        InputError: a named file is none, or there is none at all.
    """
    found: dict[Source, list[Path]] = {source: [] for source in Source}
    for path in paths:
        is_folder = path.is_dir()
        for file in sorted(path.iterdir()) if is_folder else [path]:
            source = source_of(file) if file.is_file() or not is_folder else None
            if source is not None and file not in found[source]:
                found[source].append(file)
            elif source is None and not is_folder:
                read_bytes(file)  # a file that cannot be read says why
                raise InputError(f"{file}: is no part of a recorded step; allowed are {_allowed()}")
    if not any(found.values()):
        raise InputError(f"{_shown(paths)}: holds no recorded step; allowed are {_allowed()}")
    return found


def load_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, plain or packed with gzip.

    Raises:
        InputError: the file cannot be read, is malformed, too large, or holds no object.
    """
    content = _unpacked(path)
    try:
        data = _object(content)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{path}: malformed JSON at {place}: {error.msg}; is the file whole?") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{path}: malformed JSON: {excerpt(error) or 'too large for the memory'}") from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: holds a {type(data).__name__}; it must hold a JSON object {{...}}")
    return data


def _object(content: bytes) -> Any:
    """Return what a text holds; names that Kineto wrote without escapes are read as they stand.

    See https://github.com/pytorch/kineto/pull/1459: quotes in the name of a file end up in that of an event.
    """
    try:
        return json.loads(content, strict=False)
    except json.JSONDecodeError as error:
        repaired = _ESCAPE.sub(_known_escape, _EVENT_NAME.sub(_escaped, content))
        if repaired == content:
            raise
        try:
            return json.loads(repaired, strict=False)
        except json.JSONDecodeError:
            raise error from None


def _known_escape(escape: re.Match[bytes]) -> bytes:
    return escape[0] if escape[1] in _KNOWN_ESCAPES else b"\\" + escape[0]


def _escaped(name: re.Match[bytes]) -> bytes:
    try:
        json.loads(b'"' + name[0] + b'"', strict=False)
    except ValueError:
        return name[0].replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return name[0]


def _unpacked(path: Path) -> bytes:
    content = read_bytes(path, MOST_BYTES)
    if content[:2] != _GZIP:
        return content
    reader = zlib.decompressobj(wbits=31)
    try:
        unpacked = reader.decompress(content, MOST_BYTES)
    except (zlib.error, MemoryError) as error:
        raise InputError(f"{path}: cannot be unpacked: {excerpt(error)}") from None
    if reader.unconsumed_tail:
        raise InputError(f"{path}: has more than {MOST_BYTES} bytes unpacked, the most allowed")
    if not reader.eof:
        raise InputError(f"{path}: is cut off: the end of the packed data is missing")
    return unpacked


def _head_of(path: Path) -> bytes:
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        return zlib.decompressobj(wbits=31).decompress(head, _HEAD_BYTES) if head[:2] == _GZIP else head
    except (OSError, zlib.error):
        return b""


def _allowed() -> str:
    return "execution traces with their Kineto traces (JSON, also .gz) and .et files of mlc-chakra"


def _shown(paths: Sequence[Path]) -> str:
    return ", ".join([str(path) for path in paths[:3]]) or "no file"
