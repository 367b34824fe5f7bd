"""Where the engine for pages is: `dse_engine.wasm`, which `make wasm` builds beside this file."""

from __future__ import annotations

from pathlib import Path

_FILE = Path(__file__).with_name("dse_engine.wasm")


def engine_file() -> Path | None:
    """Return the file of the engine for pages, None where it has not been built."""
    return _FILE if _FILE.is_file() else None


def engine_bytes() -> bytes | None:
    """Return the engine for pages as a WebAssembly module, None where it has not been built."""
    file = engine_file()
    return None if file is None else file.read_bytes()
