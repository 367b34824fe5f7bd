"""The loop of a sweep: what a search proposes and the study lacks is evaluated, and written at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic

from dse.base.signals import raise_if_signalled
from dse.studies.evaluator import Keyed
from dse.studies.executors import Executor
from dse.studies.points.blocks import PointBlock, blocks_of
from dse.studies.points.point import DesignPoint
from dse.studies.search import Search
from dse.studies.store import POINTS, StudyStore
from dse.studies.store.row import Row, row_count
from dse.studies.sweeps.writer import StudyWriter


@dataclass
class SweepResult:
    """The keys of all cases of a sweep, in the order in which they were proposed, and how many were new."""

    keys: list[str] = field(default_factory=list)
    computed: int = 0
    warning: str = ""


class StoredRows(Generic[Row]):
    """The rows of a study by key, for searches that learn."""

    def __init__(self, store: StudyStore[Row]) -> None:
        """Read the study."""
        self._record = store.record
        self._table = store.read_table() if store.count() else None
        keys = [] if self._table is None else self._table["key"].to_pylist()
        self._indices = {key: index for index, key in enumerate(keys)}

    def row(self, key: str) -> Row:
        """Return the row of a case that is stored."""
        assert self._table is not None
        return self._record.rows(self._table.slice(self._indices[key], 1))[0]


def run_sweep(
    search: Search,
    executor: Executor,
    store: StudyStore[Row],
    *,
    known: set[str],
    on_row: Callable[[Any], None] = lambda _: None,
) -> SweepResult:
    """Evaluate what `search` proposes and is not `known`, and store it; `known` grows by it.

    `on_row` gets each row, or a table of rows that come together.

    A kill at any moment loses at most the points in flight and the rows that `StudyWriter` still holds.

    Raises:
        InputError: a point's input is wrong, or the study cannot be written; what is computed stays stored.
    """
    result = SweepResult()
    stored = StoredRows(store) if search.learns else None
    told: set[str] = set()

    in_blocks = executor.takes_blocks and not search.learns and store.record is POINTS

    def missing_of(batch: Iterable[DesignPoint]) -> Iterator[DesignPoint | PointBlock]:
        """Blocks where points are answered in blocks."""
        for part in (part for block in blocks_of(batch) for part in block.parts()):
            keys = part.keys
            result.keys.extend(keys)
            rest = part.missing(keys, known)
            if rest.scenario.in_blocks:
                yield from [rest] if len(rest) else []
            else:
                yield from rest

    def missing(batch: Iterable[Keyed]) -> Iterator[Keyed]:
        for case in batch:
            key = case.key
            result.keys.append(key)
            if key not in known:
                known.add(key)
                told.add(key)
                yield case
            elif stored is not None and key not in told:
                told.add(key)
                row: Any = stored.row(key)  # searches that learn are of points
                search.tell(row)

    with StudyWriter(store) as writer:
        for batch in search.batches():
            for _, row in executor.run(missing_of(batch) if in_blocks else missing(batch)):
                on_row(row)
                writer.add(row)
                result.computed += row_count(row)
                raise_if_signalled()
                if search.learns:
                    search.tell(row)
    result.warning = writer.warning
    return result
