"""Rows on their way into a study: collected for a moment, written as parts, merged when parts are many."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any, Generic

from dse.base.errors import InputError
from dse.base.lazy import pa
from dse.studies.store import StudyStore
from dse.studies.store.order import sorted_rows
from dse.studies.store.row import Row, row_count

LEAST_FLUSH_S, MOST_FLUSH_S = 0.1, 1.0
WRITING_SHARE = 0.05
"""Rows wait so long that writing them takes this share of the time, within the two limits above: that is what
a killed sweep may lose besides the points in flight."""

FLUSH_ROWS = 50_000  # are written at once; then others wait for the writer, so that memory is bounded
COMPACT_PARTS = 64  # small parts of one sweep, before they are merged


class StudyWriter(Generic[Row]):
    """Writes rows of any type in a thread of its own: they reach the disk while the next ones take long.

    A context manager: leaving it writes what is left, and merges the parts unless an exception leaves it.
    """

    def __init__(self, store: StudyStore[Row], flush_s: float = LEAST_FLUSH_S) -> None:
        """Start nothing yet; the first rows wait for `flush_s` seconds."""
        self._store = store
        self._flush_s = flush_s
        self._rows: list[Row] = []
        self._tables: list[pa.Table] = []
        self._waiting = 0
        self._parts = 0
        self._error: BaseException | None = None
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._write_until_closed, name="dse-writer", daemon=True)
        self.written = 0
        self.warning = ""

    def add(self, row: Any) -> None:
        """Take a row, or a table of rows; wait while too many are not written yet.

        Raises:
            InputError: rows before it could not be written.
        """
        with self._changed:
            self._changed.wait_for(self._takes)
            if self._error is not None:
                raise self._error
            (self._tables if hasattr(row, "num_rows") else self._rows).append(row)
            self._waiting += row_count(row)
            if self._waiting >= FLUSH_ROWS:
                self._changed.notify()

    def __enter__(self) -> StudyWriter[Row]:
        """Start writing."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what is left; an error of writing is raised unless another one is on its way."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()
        if self._error is not None and error is None:
            raise self._error
        if error is None:
            self._compact()

    def _takes(self) -> bool:
        return self._waiting < FLUSH_ROWS or self._error is not None

    def _write_until_closed(self) -> None:
        try:
            import pyarrow.parquet  # noqa: F401 (not while the first rows are measured)

            while not self._closing:
                with self._changed:
                    if self._waiting < FLUSH_ROWS:
                        self._changed.wait(self._flush_s)
                self._flush()
            self._flush()
        except BaseException as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _flush(self) -> None:
        with self._changed:
            rows, tables, count = self._rows, self._tables, self._waiting
            self._rows, self._tables, self._waiting = [], [], 0
            self._changed.notify_all()
        if not count:
            return
        began = time.monotonic()
        record = self._store.record
        table = pa.concat_tables([*tables, *([record.table(rows)] if rows else [])])
        self._store.append(sorted_rows(record, table))
        del rows, tables, table
        pa.default_memory_pool().release_unused()  # else it keeps several times what waits
        writing_s = time.monotonic() - began
        self._flush_s = min(max(LEAST_FLUSH_S, writing_s / WRITING_SHARE), MOST_FLUSH_S)
        self.written += count
        self._parts += 1
        if self._parts >= COMPACT_PARTS:
            self._compact()
            self._parts = 0

    def _compact(self) -> None:
        try:
            self._store.compact()
        except InputError as error:  # every row is safe in the small parts
            self.warning = f"small parts were not merged: {error}"
