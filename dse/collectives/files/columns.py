"""Sends that are read one by one, collected as columns."""

from __future__ import annotations

from array import array

from dse.collectives.problem.recorded_sends import SendTable


class Columns:
    """Grows by one send at a time."""

    def __init__(self) -> None:
        self._columns = [array("q") for _ in range(6)]

    def add(self, source: int, destination: int, chunk: int, start_ps: int, end_ps: int, adds: bool) -> None:
        """Append a send; all numbers fit 64 bits."""
        values = (source, destination, chunk, start_ps, end_ps, int(adds))
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)

    def table(self) -> SendTable:
        """Return all of them."""
        import numpy as np

        source, destination, chunk, start, end, adds = (
            np.array(column, dtype=np.int64) for column in self._columns
        )
        return SendTable(source, destination, chunk, start, end, adds.astype(np.bool_))
