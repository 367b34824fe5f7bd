"""The text that nccl-tests print: times of a collective by size, and the line that fits them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from dse.base.errors import InputError, excerpt
from dse.base.files import read_text
from dse.base.lazy import np
from dse.inputs.machines.facts import accelerator_of_product

OPERATIONS = ("all_gather", "reduce_scatter", "all_reduce", "alltoall")
_RANK = re.compile(
    r"\s{0,9}#\s{1,9}Rank\s{1,9}(?P<rank>\d{1,6})\s(?:.{0,40}?\bGroup\s{1,9}(?P<group>\d{1,6})\s)?.{0,400}?"
    r"\son\s{1,9}(?P<host>\S{1,255})\s{1,9}device\s{1,9}\S{1,9}"
    r"(?:\s{1,9}\[\S{0,40}\](?P<product>.{0,100}))?"
)
_LABEL = re.compile(
    r"^[ \t]{0,9}(?:\[(?:rank)?\d{1,9}(?:,\d{1,9})?\](?:<std(?:out|err)>)?:|\d{1,6}:|"
    r"\d{4}-\d\d-\d\dT[\d:.]{8,20}(?:Z|[-+]\d\d:\d\d))[ \t]?",
    re.MULTILINE,
)
"""The begin of lines that `mpirun --tag-output`, `srun --label`, torchrun and `kubectl logs` print."""

_NAME = re.compile(rf"(?<![a-z])(?P<name>{'|'.join(OPERATIONS)})_perf\b")
_OTHER = re.compile(r"\b(?P<name>[a-z_]{2,20})_perf\b")
_FIRST_COLUMNS = ["size", "count"]
_TIME = 5  # of a line without a header: after size, count, type, redop and root
_COUNT = 3  # from the time to #wrong: behind algbw and busbw
_MOST_BYTES, _MOST_US = 2**53, 1e12


@dataclass(frozen=True)
class Line:
    """t = start + bytes / rate: `start_us`, `gbps` of the algorithm, and by how much times differ from it."""

    start_us: float
    gbps: float
    mean_error_pct: float
    worst_error_pct: float

    @property
    def words(self) -> str:
        """The line and its residuals in words."""
        return (
            f"{self.start_us:.4g} us + bytes / {self.gbps:.5g} GB/s, within {self.mean_error_pct:.2g} % of "
            f"the times on average, {self.worst_error_pct:.2g} % at most"
        )


@dataclass(frozen=True)
class CollectiveTimes:
    """The printed figures of one run: `rows` are bytes and microseconds out of place, the smallest first."""

    path: Path
    operation: str
    hosts: tuple[str, ...]  # of each rank
    products: tuple[str, ...]
    rows: tuple[tuple[float, float], ...]

    @property
    def ranks(self) -> int:
        """How many GPUs took part."""
        return len(self.hosts)

    @property
    def accelerator(self) -> str:
        """The type of conf/accelerator of all GPUs; "" where they differ or are unknown."""
        found = {accelerator_of_product(product) for product in self.products}
        return found.pop() if len(found) == 1 else ""

    @property
    def steps(self) -> int:
        """The messages that follow each other on a ring: twice around for an all-reduce, once for others."""
        return (self.ranks - 1) * (2 if self.operation == "all_reduce" else 1)

    @property
    def bus_factor(self) -> float:
        """Bytes that a rank sends per byte: 2 (p - 1) / p in an all-reduce, (p - 1) / p in others."""
        return self.steps / self.ranks

    def line(self) -> Line:
        """Fit the line by least squares of relative errors, with neither term below 0.

        Raises:
            InputError: fewer than two sizes, or times that do not grow with them.
        """
        size, time = (np.array(column) for column in zip(*self.rows, strict=True))
        if len(set(size.tolist())) < 2:
            raise InputError(
                f"{self.path}: has one size; a line needs two at least, such as -b 1K -e 1G -f 2"
            )
        terms = np.stack([1 / time, size / time], axis=1)
        (start, slope), *_ = np.linalg.lstsq(terms, np.ones(len(time)), rcond=None)
        if start < 0:
            start, slope = 0.0, float((terms[:, 1].sum()) / (terms[:, 1] ** 2).sum())
        if not slope > 0:
            raise InputError(
                f"{self.path}: times do not grow with the size; give larger sizes, such as -e 1G"
            )
        error = 100 * np.abs((start + slope * size) / time - 1)
        return Line(float(start), float(1e-3 / slope), float(error.mean()), float(error.max()))


def is_nccl_tests(text: str) -> bool:
    """Whether a text names ranks as nccl-tests do."""
    return any(_RANK.match(line) for line in _LABEL.sub("", text).splitlines())


def read_collective_times(path: Path) -> CollectiveTimes:
    """Return the rows that all_reduce_perf and the like printed: times out of place, a row per size.

    The collective is the program that the text or the name of the file names. Without it, the ratio of the
    two bandwidths says which reduction it is. Sizes of 0 bytes are passed over.

    Raises:
        InputError: the file is unreadable, or no such text; it does not say which collective or how many
            ranks; or a line of figures is malformed. Names file and line.
    """
    text = _LABEL.sub("", read_text(path))
    lines = text.splitlines()
    ranks = [match for line in lines if (match := _RANK.match(line))]
    if not ranks:
        raise InputError(
            f"{path}: no line begins with '#  Rank', which nccl-tests print for each GPU; give their output"
        )
    if len(ranks) == 1:
        raise InputError(f"{path}: nccl-tests ran on one GPU; a collective needs at least 2 (-g 2)")
    _check_one_run(path, ranks)
    columns = next((words for line in lines if _is_header(words := line.lstrip("# ").split())), [])
    rows = [
        _row(path, number, line.split(), columns)
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#") and line.split()[0].isdecimal()
    ]
    rows = [row for row in rows if row[0] > 0]
    if not rows:
        raise InputError(
            f"{path}: has no line with a size and its time; give all of the output of nccl-tests"
        )
    return CollectiveTimes(
        path,
        _operation(path, text, len(ranks), rows),
        tuple(match["host"] for match in ranks),
        tuple((match["product"] or "").strip() for match in ranks),
        tuple((size, time) for size, time, *_ in rows),
    )


def _check_one_run(path: Path, ranks: list[re.Match[str]]) -> None:
    if len({match["group"] or "0" for match in ranks}) > 1:
        raise InputError(
            f"{path}: its GPUs are split into groups, whose collectives run at the same time; run nccl-tests "
            "without NCCL_TESTS_SPLIT"
        )
    numbers = [int(match["rank"]) for match in ranks]
    twice = next((number for number, times in Counter(numbers).items() if times > 1), None)
    if twice is not None:
        raise InputError(
            f"{path}: names rank {twice} twice; give the output of one run (nccl-tests built with MPI=1, "
            "if several processes ran)"
        )


def _is_header(words: list[str]) -> bool:
    return words[:2] == _FIRST_COLUMNS and "time" in words


def _row(
    path: Path, number: int, cells: list[str], columns: list[str]
) -> tuple[float, float, float, float, str]:
    """Size in bytes, time in us, algbw, busbw and redop of a line.

    Cells count from the right, as older releases have no root, and none or an empty one for redop.
    """
    at = len(cells) - len(columns) + columns.index("time") if columns else _TIME
    try:
        size, time, algorithm, bus = (float(cells[place]) for place in (0, at, at + 1, at + 2))
    except (IndexError, ValueError):
        size = time = algorithm = bus = -1.0
    is_whole = at > 2  # size, count and type come first
    if not (is_whole and 0 <= size <= _MOST_BYTES and 0 < time <= _MOST_US and algorithm >= 0 and bus >= 0):
        raise InputError(
            f"{path}, line {number}: '{excerpt(' '.join(cells))}' is not size, count, type, redop, root and "
            "then time, algbw and busbw, as nccl-tests print them"
        )
    places = [place + at - columns.index("time") for place, name in enumerate(columns) if name == "#wrong"]
    for place in places if columns else (at + _COUNT, at + 2 * _COUNT + 1):
        wrong = cells[place] if place < len(cells) else "0"
        if _counts(wrong):
            raise InputError(
                f"{path}, line {number}: {excerpt(wrong)} values of {excerpt(cells[0])} bytes are wrong "
                "(#wrong), so that no time can be trusted; repair the links or NCCL, and run it again"
            )
    return size, time, algorithm, bus, cells[3] if at > 3 else "none"


def _counts(cell: str) -> bool:
    """Whether #wrong counts a value, also as 1.04858e+06; older releases print an error below 1 there."""
    try:
        return not abs(float(cell)) < 1
    except ValueError:  # N/A, where nothing was checked
        return False


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
