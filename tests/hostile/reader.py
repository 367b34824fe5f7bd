"""A reader of files or texts of others, and where its valid seeds come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"


@dataclass(frozen=True)
class Reader:
    """A reader that takes a file of this suffix; `seeds` makes valid contents in a folder."""

    suffix: str
    seeds: Callable[[Path], Iterable[bytes]]
    read: Callable[[Path], object]


def contents(*patterns: str) -> Callable[[Path], list[bytes]]:
    return lambda _: [path.read_bytes() for pattern in patterns for path in sorted(ROOT.glob(pattern))]


def lines(*lines: str) -> Callable[[Path], list[bytes]]:
    return lambda _: [line.encode() for line in lines]


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="surrogateescape")
