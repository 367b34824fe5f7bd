"""The text that nccl-tests prints, read as a table of collectives."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from dse.base.errors import InputError
from dse.base.files import read_text
from dse.base.texts import excerpt
from dse.prediction.kernels.collectives import OPERATIONS
from dse.prediction.kernels.tables import KernelTable

_RANK = re.compile(r"#\s{1,9}Rank\s{1,9}\d{1,6}\s.{0,400}?\son\s{1,9}(?P<host>\S{1,255})\s{1,9}device\b")
_NAME = re.compile(r"\b(?P<name>all_gather|reduce_scatter|all_reduce|alltoall)_perf\b")
_OTHER = re.compile(r"\b(?P<name>[a-z_]{2,20})_perf\b")
_PREFIX = 5  # size, count, type, redop, root; then the times out of place
_MOST_BYTES, _MOST_US = 2**53, 1e12


def read_nccl_tests(path: Path) -> KernelTable:
    """Return the rows that all_reduce_perf and the like printed: times out of place, a row per size.

    The collective is the program that the text or the name of the file names. Without it, the ratio of the
    two bandwidths says which reduction it is. Sizes of 0 bytes are passed over.

    Raises:
        InputError: the file is unreadable, or no such text; it does not say which collective or how many
            ranks; or a line of figures is malformed. Names file and line.
    """
    text = read_text(path)
    lines = text.splitlines()
    ranks = sum(1 for line in lines if _RANK.match(line))
    if not ranks:
        raise InputError(
            f"{path}: no line begins with '#  Rank', which nccl-tests print for each GPU; give their output"
        )
    if ranks == 1:
        raise InputError(f"{path}: nccl-tests ran on one GPU; a collective needs at least 2 (-g 2)")
    rows = [
        _row(path, number, line.split())
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#") and line.split()[0].isdecimal()
    ]
    rows = [row for row in rows if row[0] > 0]
    if not rows:
        raise InputError(
            f"{path}: has no line with a size and its time; give all of the output of nccl-tests"
        )
    operation = _operation(path, text, ranks, rows)
    count = len(rows)
    return KernelTable(
        "nccl",
        path,
        {
            "op": np.array([operation] * count),
            "system": np.array([""] * count),
            "lib": np.array(["nccl"] * count),
            "gpus": np.full(count, float(ranks)),
            "bytes": np.array([size for size, *_ in rows]),
            "us": np.array([time for _, time, *_ in rows]),
        },
    )


def hosts_of(path: Path) -> tuple[str, ...]:
    """Return the hosts that the output of nccl-tests names, each once."""
    found = (_RANK.match(line) for line in read_text(path).splitlines())
    return tuple(dict.fromkeys(match["host"] for match in found if match))


def _row(path: Path, number: int, cells: list[str]) -> tuple[float, float, float, float, str]:
    """Size in bytes, time in us, algbw, busbw and redop of a line."""
    try:
        size, time, algorithm, bus = (float(cells[place]) for place in (0, _PREFIX, _PREFIX + 1, _PREFIX + 2))
    except (IndexError, ValueError):
        size = time = algorithm = bus = -1.0
    if not (0 <= size <= _MOST_BYTES and 0 < time <= _MOST_US and algorithm >= 0 and bus >= 0):
        raise InputError(
            f"{path}, line {number}: '{excerpt(' '.join(cells))}' is not size, count, type, redop, root and "
            "then time, algbw and busbw, as nccl-tests print them"
        )
    return size, time, algorithm, bus, cells[3]


def _operation(path: Path, text: str, ranks: int, rows: list[tuple[float, float, float, float, str]]) -> str:
    for source in (text, path.name):
        if found := _NAME.search(source):
            return found["name"]
        if other := _OTHER.search(source):
            raise InputError(
                f"{path}: is of {excerpt(other['name'])}_perf; allowed are "
                f"{', '.join(f'{name}_perf' for name in OPERATIONS)}"
            )
    redop = rows[-1][4]
    algorithm, bus = rows[-1][2], rows[-1][3]
    if redop == "none" or not algorithm:
        raise InputError(
            f"{path}: does not say which collective it is of; name the file after the program, such as "
            "all_gather_perf.txt"
        )
    return "all_reduce" if bus / algorithm > (1.5 * (ranks - 1)) / ranks else "reduce_scatter"
