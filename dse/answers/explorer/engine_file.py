"""Where the engine for pages is, `dse_engine.wasm` of `make wasm`, and what it says of its version."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_name("dse_engine.wasm")
# What the engine says of itself stands in it as text (engine/wasm/exports.cpp).
_TEXT = re.compile(rb'\{"version":"[^"]*","result_version":(\d+),"figures":(\d+),"texts":(\d+)\}')


class EngineVersions(NamedTuple):
    """The version of the engine's results, and how many figures and texts its rows have."""

    result_version: int
    figures: int
    texts: int = 3


def engine_file() -> Path | None:
    """Return the file of the engine for pages, None where it has not been built."""
    return _FILE if _FILE.is_file() else None


def engine_bytes() -> bytes | None:
    """Return the engine for pages as a WebAssembly module, None where it has not been built."""
    file = engine_file()
    return None if file is None else file.read_bytes()


def engine_versions(engine: bytes) -> EngineVersions | None:
    """Return what an engine for pages says of itself; None of one that is too old to say it."""
    found = _TEXT.search(engine)
    return None if found is None else EngineVersions(*map(int, found.groups()))
