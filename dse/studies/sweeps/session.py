"""One sweep from a configuration to a stored study; callbacks say what happens, and nothing is printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from dse.base.errors import InputError
from dse.base.machine import usable_cores
from dse.base.signals import INTERRUPTED, putting_away
from dse.studies.config import Config, resolved_yaml
from dse.studies.executors import Executor, make_executor
from dse.studies.search import Search, make_search
from dse.studies.store import StudyRow, StudyStore
from dse.studies.store.history import finish_sweep, plan_sweep, sweep_caps
from dse.studies.sweeps.driver import SweepResult, run_sweep
from dse.studies.sweeps.notes import missing_degrees
from dse.studies.sweeps.plan import Survey, design_points, estimated_seconds, survey
from dse.studies.sweeps.provenance import provenance, sweep_name
from dse.studies.sweeps.writer import StudyWriter


class RowCounter(Protocol):
    """Counts the rows of a sweep."""

    def add(self, row: StudyRow) -> object:
        """Take a row that has just been evaluated."""


MakeCounter = Callable[[int | None], AbstractContextManager[RowCounter]]
"""Makes a counter for a sweep of so many points, None if that is not known; it is entered while rows come."""


@dataclass(frozen=True)
class Swept:
    """A sweep that has ended: its study, its points, and what its search has to say."""

    store: StudyStore
    result: SweepResult
    notes: Sequence[str]


@dataclass(frozen=True)
class Session:
    """The session of a sweep: `command` is how it was started, `say` gets warnings and notes, a line each.

    `other_inputs` says in a line how the inputs of stored points differ from those of the sweep.
    """

    config: Config
    command: Sequence[str]
    say: Callable[[str], None]
    progress: MakeCounter
    other_inputs: Callable[[Config, StudyStore], str]

    def run(self) -> Swept:
        """Evaluate the points that the study lacks.

        Raises:
            InputError: an empty space, or a study that cannot be read or written.
        """
        config = self.config
        folder = config.results_dir / config.study
        store = StudyStore(folder)
        known = store.keys(without=config.recompute) if store.exists() else set()
        search = make_search(config, lambda: design_points(config))
        enumerable = config.search.name == "exhaustive"
        found = survey(design_points(config), known) if enumerable else None
        is_new = not store.exists()
        store = StudyStore.create(folder)
        try:
            return self._add_to(store, known, search, found)
        except InputError:
            if is_new:
                store.remove_if_empty()  # refused before anything was written down
            raise

    def _add_to(self, store: StudyStore, known: set[str], search: Search, found: Survey | None) -> Swept:
        config = self.config
        for note in missing_degrees(config, self.command):
            self.say(f"note: {note}")
        others = self.other_inputs(config, store) if known and (found is None or not found.stored) else ""
        if others:
            self.say(f"warning: {others}")
        if found is not None and not found.missing and not search.learns:
            with putting_away(), StudyWriter(store):  # merges what killed sweeps left
                result = SweepResult(list(found.keys))
        else:
            result = self._evaluate(search, store, known, found)
        finish_sweep(store, resolved_yaml(config), known)
        if not result.computed and sweep_caps(store)[-1:] != [config.chosen_cap_bytes]:
            self._record(store, sweep_name(), None)  # later answers have the cap of this one
        if result.warning:
            self.say(f"note: {result.warning}")
        return Swept(store, result, search.notes())

    def _evaluate(
        self, search: Search, store: StudyStore, known: set[str], found: Survey | None
    ) -> SweepResult:
        config = self.config
        executor = self._executor(found)
        name = sweep_name()
        recorded = found is not None
        if found is not None:
            self._record(store, name, found)

        def on_row(row: StudyRow) -> None:
            nonlocal recorded
            if not recorded:  # a search that computes nothing leaves no trace
                self._record(store, name, None)
                plan_sweep(store, name, resolved_yaml(config), None)
                recorded = True
            counter.add(row)

        with (
            putting_away(f"{INTERRUPTED}; the same command goes on from what is stored in {store.folder}"),
            self.progress(config.search.samples if found is None else found.missing) as counter,
        ):
            return run_sweep(search, executor, store, known=known, on_row=on_row)

    def _record(self, store: StudyStore, name: str, found: Survey | None) -> None:
        """Write down what a sweep is about to do; of an exhaustive one also which points."""
        configuration = resolved_yaml(self.config)
        if found is not None:
            plan_sweep(store, name, configuration, None if self.config.search.prune else found.digits)
        points = {"samples": self.config.search.samples} if found is None else {"planned": found.points}
        store.record_sweep(name, provenance(self.command, configuration, points))

    def _executor(self, found: Survey | None) -> Executor:
        settings = self.config.executor

        def estimate() -> float | None:
            return None if found is None else estimated_seconds(found, settings.threads or usable_cores())

        executor, choice = make_executor(settings, estimate)
        if choice.matters and (found is None or found.missing):
            self.say(choice.reason)
        return executor
