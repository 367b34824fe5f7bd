"""A synthesis that a signal ends with the best so far, and its progress on stderr."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from dse.base.cancellation import Cancellation
from dse.base.progress_bars import progress_bar
from dse.base.units import format_duration_ns
from dse.collectives.search.synthesizers.base import Effort, Progress

T = TypeVar("T")
_POLL_S = 0.05


def stoppable(call: Callable[[], T], cancellation: Cancellation) -> tuple[T, bool]:
    """Call in a thread; KeyboardInterrupt here cancels it. Return its result, and whether it was cancelled.

    Raises whatever the call raises.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    done = threading.Event()  # a thread whose join is interrupted counts as ended
    threading.Thread(target=work, daemon=True).start()
    was_cancelled = False
    while not done.is_set():
        try:
            done.wait(_POLL_S)
        except KeyboardInterrupt:
            was_cancelled = True
            cancellation.cancel()
    if errors:
        raise errors[0]
    return results[0], was_cancelled


class ProgressBar:
    """Runs, best time, bound and gap; silent where stderr is not a terminal."""

    def __init__(self, effort: Effort) -> None:
        self._bar = progress_bar("run", effort.trials)
        self._bound_ps = 0

    def report(self, progress: Progress) -> None:
        """Show how far a search is; several searches count on."""
        if self._bar.disable:
            return
        self._bound_ps = progress.bound_ps or self._bound_ps
        self._bar.n = progress.trials
        if progress.trials > (self._bar.total or 0):
            self._bar.total = None
        if progress.best_ps is not None:
            text = f"best {format_duration_ns(progress.best_ps / 1000)}"
            if self._bound_ps:
                text += f", bound {format_duration_ns(self._bound_ps / 1000)}"
                text += f", gap {100 * (progress.best_ps / self._bound_ps - 1):.2f} %"
            self._bar.set_postfix_str(text, refresh=False)
        self._bar.refresh()

    def attached(self, effort: Effort) -> Effort:
        """Return an effort that reports here."""
        return replace(effort, report=self.report)

    def close(self) -> None:
        """Leave the bar as it stands."""
        self._bar.close()
