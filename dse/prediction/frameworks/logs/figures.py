"""A log as figures: medians of its steps after the first ones, their spread, and the peak of memory."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from dse.base.errors import InputError
from dse.base.files import regular_file
from dse.base.settings.checks import check_choice
from dse.base.texts import counted
from dse.prediction.frameworks.logs.kinds import (
    accelerate,
    deepspeed,
    llm_foundry,
    maxtext,
    megatron_bridge,
    megatron_lm,
    nanotron,
    nemo,
    torchtitan,
)
from dse.prediction.frameworks.logs.reader import Reader, Reading

_MODULES = (
    megatron_bridge,
    nemo,
    torchtitan,
    maxtext,
    megatron_lm,
    nanotron,
    llm_foundry,
    deepspeed,
    accelerate,
)
READERS = {module.READER.framework: module.READER for module in _MODULES}
"""Readers by framework; of two that find as good lines in a log, the first is taken."""

WARM_UP = 2
"""Steps at a start that are left out of more than `FEW`: they compile, tune kernels and fill caches."""
FEW = 3
_MOST_LATE = 1000
"""Lines that a rank may come behind another one."""
_WRITER = re.compile(r"\s{0,9}(?:\[(?:rank|default)?[\d,]{1,15}\](?:<\w{3,9}>)?:|\d{1,6}: )", re.ASCII)


class Spread(NamedTuple):
    """The median of a figure over steps, with the least and the largest value."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class LogFigures:
    """Figures of a log; None where it does not tell them.

    `steps` are those behind the figures, `left_out` those before. `seconds` is the time of a step,
    `samples_s` are sequences per second of all GPUs, `batch` the sequences of a step. `memory_gib` is the
    peak in 2^30 bytes, of tensors or of the allocator as the framework's predictions count it. `notes` say
    what was passed over.
    """

    path: Path
    framework: str
    steps: int
    left_out: int
    seconds: Spread | None
    tokens_s_gpu: Spread | None
    samples_s: Spread | None
    tflops_gpu: Spread | None
    batch: int | None
    memory_gib: float | None
    notes: tuple[str, ...] = ()


@dataclass
class _Steps:
    """The steps of a rank; `start` is where its latest start begins, `writers` their latest steps since."""

    readings: list[Reading] = field(default_factory=list)
    writers: dict[str, int] = field(default_factory=dict)
    start: int = 0

    def add(self, one: Reading, writer: str) -> None:
        same = None if one.step is None else self._same(one.step, writer)
        if same is None:
            self.readings.append(one)
        else:  # another rank writes the same step
            self.readings[same] = max(self.readings[same], one, key=_slowness)

    def _same(self, step: int, writer: str) -> int | None:
        """The place of a step that another rank has written, also if that is further by now."""
        count = len(self.readings)
        is_last = count > 0 and self.readings[-1].step == step
        if self.writers.get(writer, -1) >= step and not is_last:
            self.writers.clear()
            self.start = count
        self.writers[writer] = step
        first = max(self.start, count - (_MOST_LATE if writer else 1))
        return next((at for at in range(count - 1, first - 1, -1) if self.readings[at].step == step), None)


@dataclass
class _Found:
    """The lines of steps that one reader found, by rank, and its peaks of memory."""

    by_rank: dict[int, _Steps] = field(default_factory=dict)
    memory_gib: dict[str, float] = field(default_factory=dict)
    batch: int | None = None
    skipped: int = 0

    @property
    def rank(self) -> int:
        return min(self.by_rank)

    def add(self, one: Reading, writer: str = "") -> None:
        self.batch = one.batch or self.batch
        for name, value in (("allocated", one.allocated_gib), ("reserved", one.reserved_gib)):
            if value is not None:
                self.memory_gib[name] = max(value, self.memory_gib.get(name, 0.0))
        if one.is_step:
            self.by_rank.setdefault(one.rank, _Steps()).add(one, writer)


def read_log(path: Path, framework: str = "") -> LogFigures:
    """Return the figures of a log; `framework` is whose it is, found out by its lines if it is empty.

    Raises:
        InputError: the file cannot be read, no line tells how long a step took, or the framework is unknown.
    """
    if framework:
        check_choice("framework", framework, tuple(READERS))
    readers = [READERS[framework]] if framework else list(READERS.values())
    found = {reader.framework: _Found() for reader in readers}
    marks = [(mark, reader) for reader in readers for mark in reader.marks]
    for line in log_lines(path):
        for reader in {id(reader): reader for mark, reader in marks if mark in line}.values():
            _add(found[reader.framework], reader, line, _writer(line))
    timed = [name for name, one in found.items() if one.by_rank]
    if not timed:
        skipped = max(one.skipped for one in found.values())
        unread = f"; {counted(skipped, 'line')} have a figure that is not above 0" if skipped else ""
        names = framework or ", ".join(READERS)
        raise InputError(f"{path}: has no line that says how long a step took, as logs of {names} do{unread}")
    name = min(timed, key=lambda name: found[name].rank)
    return _figures(path, READERS[name], found[name], found)


def _writer(line: str) -> str:
    """The rank that a launcher names at the begin of a line; empty where it names none."""
    named = _WRITER.match(line)
    return named[0] if named else ""


def _add(found: _Found, reader: Reader, line: str, writer: str) -> None:
    try:
        one = reader.read(line)
    except ValueError:
        found.skipped += 1
        return
    if one is not None:
        found.add(one, writer)


def _figures(path: Path, reader: Reader, own: _Found, found: dict[str, _Found]) -> LogFigures:
    readings = own.by_rank[own.rank].readings
    notes = []
    if own.skipped:
        notes.append(
            f"{path}: {counted(own.skipped, 'line')} passed over: a figure is not finite and above 0"
        )
    batch = own.batch or next((one.batch for one in found.values() if one.batch), None)
    same = [one for one in readings if one.batch in (None, batch)]
    if len(same) < len(readings):
        notes.append(f"{path}: only steps of the last batch, {batch} sequences, count")
    kept = [one for run in _runs(same) for one in run]
    if kept[-1].is_average:
        kept = kept[-1:]
        notes.append(f"{path}: has only averages since the start, of which the last counts")
    left_out = len(same) - len(kept)
    if left_out and not kept[-1].is_average:
        notes.append(
            f"{path}: {counted(left_out, 'step')} left out, the first {WARM_UP} of each start: they compile "
            "and warm up"
        )
    framework = reader.framework
    if framework == "megatron-lm" and "deepspeed" in found and found["deepspeed"].by_rank:
        framework = "megatron-deepspeed"
    return LogFigures(
        path=path,
        framework=framework,
        steps=len(kept),
        left_out=left_out,
        seconds=_spread(one.seconds for one in kept),
        tokens_s_gpu=_spread(one.tokens_s_gpu for one in kept),
        samples_s=_spread(one.samples_s for one in kept),
        tflops_gpu=_spread(one.tflops_gpu for one in kept),
        batch=batch,
        memory_gib=_memory(reader, own, found),
        notes=tuple(notes),
    )


def _runs(readings: Sequence[Reading]) -> list[list[Reading]]:
    """The steps of each start without its first ones; the number of a step falls where a job starts again."""
    runs: list[list[Reading]] = [[]]
    for one in readings:
        last = runs[-1][-1].step if runs[-1] else None
        if last is not None and one.step is not None and one.step < last:
            runs.append([])
        runs[-1].append(one)
    return [run[WARM_UP:] if len(run) > FEW else run for run in runs]


def _memory(reader: Reader, own: _Found, found: dict[str, _Found]) -> float | None:
    """The peak that the framework's predictions count, else the other one; of its lines, else of others."""
    for one in (own, *found.values()):
        for name in (reader.memory, "allocated", "reserved"):
            if name in one.memory_gib:
                return one.memory_gib[name]
    return None


def _spread(values: Iterable[float | None]) -> Spread | None:
    known = [value for value in values if value is not None]
    return Spread(statistics.median(known), min(known), max(known)) if known else None


def _slowness(one: Reading) -> float:
    return one.seconds or 1 / (one.tokens_s_gpu or one.samples_s or 1.0)


_MOST_BYTES = 2**16  # of a piece that is read at once; longer lines come in pieces
_COLOUR = re.compile(r"\x1b\[[0-9;:?]{0,40}[A-Za-z]")


def log_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, also those that progress bars overwrite; bytes that are no text are marks.

    The last word of a line that is cut off is left out, as it may be half a number.

    Raises:
        InputError: the file cannot be read, or is a pipe or a device.
    """
    with regular_file(path) as file:
        while piece := file.readline(_MOST_BYTES):
            *whole, last = piece.decode("utf-8", errors="replace").split("\r")
            yield from map(_plain, whole)
            yield _plain(last if last.endswith("\n") else _without_last_word(last))


def _without_last_word(line: str) -> str:
    """A line that is cut off, up to the last blank."""
    if not line or line[-1].isspace():
        return line
    return "".join(line.rsplit(maxsplit=1)[:-1])


def _plain(line: str) -> str:
    return _COLOUR.sub("", line) if "\x1b" in line else line
