"""Errors of predictions that no constant was fitted to, as a small table that the package brings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dse.prediction.intervals.kinds import Kind

DATA = Path(__file__).parent / "data"
_THOUSAND = 1000
_COLUMNS = (*Kind._fields, "publisher", "model", "errors")


@dataclass(frozen=True)
class Unseen:
    """A measured run: log(predicted / measured) with constants fitted to runs of other models.

    `model` is the shape of the model: runs of one have errors in common, whoever published them.
    """

    kind: Kind
    publisher: str
    model: str
    error: float


@lru_cache(maxsize=4)
def unseen_runs(quantity: str = "time") -> tuple[Unseen, ...]:
    """Return the errors of a quantity, `time` or `memory`; none where the package has no table of it."""
    path = DATA / f"{quantity}.csv"
    return tuple(read(path.read_text(encoding="utf-8"))) if path.is_file() else ()


def read(text: str) -> Iterator[Unseen]:
    """Read a table: a line has the errors, in thousandths, of runs of one kind, publisher and model."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for line in csv.DictReader(lines):
        kind = Kind(
            accelerator=line["accelerator"],
            bits=int(line["bits"]),
            blocks=line["blocks"],
            context=line["context"] == "1",
            framework=line["framework"],
            scale=line["scale"],
        )
        for word in line["errors"].split():
            yield Unseen(kind, line["publisher"], line["model"], int(word) / _THOUSAND)


def write(runs: Iterable[Unseen], comment: str) -> str:
    """Return the text of a table that `read` takes."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        values = [str(int(value)) if isinstance(value, bool) else str(value) for value in run.kind]
        key = (*values, run.publisher, run.model)
        lines.setdefault(key, []).append(str(round(_THOUSAND * run.error)))
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([*key, " ".join(lines[key])] for key in sorted(lines))
    return f"# {comment}\n{file.getvalue()}"
