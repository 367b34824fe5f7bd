"""The loop of a sweep: what a search proposes and the study lacks is evaluated, and written at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from dse.base.signals import raise_if_signalled
from dse.studies.executors import Executor
from dse.studies.points import DesignPoint
from dse.studies.search import Search
from dse.studies.store import StudyRow, StudyStore, as_rows
from dse.studies.sweeps.writer import StudyWriter


@dataclass
class SweepResult:
    """The keys of all points of a sweep, in the order in which they were proposed, and how many were new."""

    keys: list[str] = field(default_factory=list)
    computed: int = 0
    warning: str = ""


class StoredRows:
    """The rows of a study by key, for searches that learn."""

    def __init__(self, store: StudyStore) -> None:
        """Read the study."""
        self._table = store.read_table() if store.count() else None
        keys = [] if self._table is None else self._table["key"].to_pylist()
        self._indices = {key: index for index, key in enumerate(keys)}

    def row(self, key: str) -> StudyRow:
        """Return the row of a point that is stored."""
        assert self._table is not None
        return as_rows(self._table.slice(self._indices[key], 1))[0]


def run_sweep(
    search: Search,
    executor: Executor,
    store: StudyStore,
    *,
    known: set[str],
    on_row: Callable[[StudyRow], None] = lambda _: None,
) -> SweepResult:
    """Evaluate what `search` proposes and is not `known`, and store it; `known` grows by it.

    A kill at any moment loses at most the points in flight and the rows that `StudyWriter` still holds.

    Raises:
        InputError: a point's input is wrong, or the study cannot be written; what is computed stays stored.
    """
    result = SweepResult()
    stored = StoredRows(store) if search.learns else None
    told: set[str] = set()

    def missing(batch: Iterable[DesignPoint]) -> Iterator[DesignPoint]:
        for point in batch:
            key = point.key
            result.keys.append(key)
            if key not in known:
                known.add(key)
                told.add(key)
                yield point
            elif stored is not None and key not in told:
                told.add(key)
                search.tell(stored.row(key))

    with StudyWriter(store) as writer:
        for batch in search.batches():
            for _, row in executor.run(missing(batch)):
                on_row(row)
                writer.add(row)
                result.computed += 1
                raise_if_signalled()
                if search.learns:
                    search.tell(row)
    result.warning = writer.warning
    return result
