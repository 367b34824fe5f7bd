"""One bar on stderr for a sweep: cases per second, time left, and the best point so far."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from dse.base.progress_bars import progress_bar
from dse.base.units import format_duration_ns
from dse.studies.store.row import row_count


class Progress:
    """A context manager; silent where stderr is not a terminal."""

    def __init__(self, total: int | None, unit: str = "point") -> None:
        """`total` is the number of cases to evaluate, None if it is not known; `unit` is one of them."""
        self._bar = progress_bar(unit, total)
        self._best_ns: int | None = None

    def __enter__(self) -> Progress:
        """Show the bar."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the bar as it stands."""
        self._bar.close()

    def add(self, row: Any) -> None:
        """Count a row, or those of a table; those of points have a `wall_time_ns`."""
        if hasattr(row, "num_rows"):
            import pyarrow.compute as pc

            wall_time_ns = pc.min(row["wall_time_ns"]).as_py()
        else:
            wall_time_ns = getattr(row, "wall_time_ns", None)
        if wall_time_ns is not None and (self._best_ns is None or wall_time_ns < self._best_ns):
            self._best_ns = wall_time_ns
            self._bar.set_postfix_str(f"best {format_duration_ns(wall_time_ns)}", refresh=False)
        self._bar.update(row_count(row))
