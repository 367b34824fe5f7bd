"""Cases that wait for a thread, in chunks of about the same time: single cases, or a part of a block."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, TypeAlias

from dse.studies.executors.chunks import ChunkSizer, Item, drawn
from dse.studies.points.blocks import MOST_POINTS, PointBlock
from dse.studies.store.row import row_count

_CHUNK_SECONDS = 0.01  # of work for a future, which itself costs some tens of microseconds
_BLOCK_SECONDS = 0.05  # of work for a part of a block, whose table takes some ms

Items: TypeAlias = list[Item[Any]]


class Backlog:
    """Draws cases from `source` as late as it can, `most` at once; what was not done goes first."""

    def __init__(self, source: Iterator[Item[Any]], most: int) -> None:
        self._source = source
        self._left: deque[Items] = deque()
        self._of_cases = ChunkSizer(_CHUNK_SECONDS, most)
        self._of_blocks = ChunkSizer(_BLOCK_SECONDS, MOST_POINTS)

    def chunk(self) -> Items:
        """Return the next cases, or none at the end."""
        is_rest = bool(self._left)
        items = self._left.popleft() if is_rest else drawn(self._source, 1)
        if _is_block(items):
            return [self._part(*items[0])]
        if items and not is_rest:
            items += drawn(self._source, self._of_cases.size - 1)
        return items

    def _part(self, index: int, block: PointBlock) -> Item[Any]:
        most = max(self._of_blocks.size, block.scenario.method.least_block)
        if len(block) > most:
            self._left.appendleft([(index, block.take(slice(most, None)))])
            block = block.take(slice(most))
        return index, block

    def measured(self, items: Items, rows: list[Any], seconds: float, cpu_seconds: float) -> None:
        """Take in how long the rows of a chunk took. Parts of blocks count by CPU time."""
        if _is_block(items):
            self._of_blocks.measured(sum(map(row_count, rows)), cpu_seconds)
        else:
            self._of_cases.measured(len(rows), seconds)

    def put_back(self, items: Items, rows: list[Any]) -> None:
        """Keep the cases of a chunk, and the points of a block, that have no rows yet."""
        self._left.extend([item] for item in items[len(rows) :])
        for (index, case), row in zip(items, rows, strict=False):
            if isinstance(case, PointBlock) and row_count(row) < len(case):
                self._left.append([(index, case.take(slice(row_count(row), None)))])


def _is_block(items: Items) -> bool:
    return len(items) == 1 and isinstance(items[0][1], PointBlock)
