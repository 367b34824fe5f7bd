"""One sweep from a configuration to a stored study; callbacks say what happens, and nothing is printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dse.base.lazy import pa
from dse.base.machine import usable_cores
from dse.studies.config import Config, resolved_yaml
from dse.studies.executors import Executor, make_executor
from dse.studies.search import Search, make_search
from dse.studies.store import POINTS, StudyRow, StudyStore
from dse.studies.store.history import latest_objective, sweep_caps
from dse.studies.sweeps.notes import missing_degrees, replaced_values, undivided_batches
from dse.studies.sweeps.plan import Enumeration, Survey, estimated_seconds, survey
from dse.studies.sweeps.provenance import sweep_name
from dse.studies.sweeps.study_run import MakeCounter, StudyRun, opened_study


@dataclass(frozen=True)
class Swept:
    """A sweep that has ended: its study, how many points it has, how many are new, and notes of its search.

    `keys` are those of its points; None where the study has no others.
    """

    store: StudyStore
    points: int
    keys: pa.Array | None
    computed: int
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
        before = StudyStore(folder)
        known = before.keys(without=config.recompute) if before.exists() else set()
        points = Enumeration(config)
        search = make_search(config, points)
        enumerable = config.search.name == "exhaustive"
        found = survey(points(), known) if enumerable else None
        with opened_study(folder, POINTS) as store:
            return self._add_to(store, known, search, found)

    def _add_to(
        self, store: StudyStore[StudyRow], known: set[str], search: Search, found: Survey | None
    ) -> Swept:
        config = self.config
        given = (*missing_degrees(config, self.command), *replaced_values(config, self.command))
        for note in (*given, *undivided_batches(config)):
            self.say(f"note: {note}")
        others = self.other_inputs(config, store) if known and (found is None or not found.stored) else ""
        if others:
            self.say(f"warning: {others}")
        samples = {"samples": config.search.samples}
        run = StudyRun(store, self.command, resolved_yaml(config), samples, is_planned=False)
        if found is not None:
            digits = None if config.search.prune else found.digits
            run = replace(run, points={"planned": found.points}, digits=digits, is_planned=True)
        if found is not None and not found.missing and not search.learns:
            result = run.merge(found.keys)
        else:
            executor = self._executor(found)
            counter = self.progress(config.search.samples if found is None else found.missing)
            result = run.evaluate(search, executor, known, counter)
        run.finish(known)
        if not result.computed and self._asks_otherwise(store):
            replace(run, points=samples).record(sweep_name())  # later answers have the cap of this one
        if result.warning:
            self.say(f"note: {result.warning}")
        points, keys = len(result.keys), None
        if store.count() > points:
            # Texts of Python would take twice the memory while the answer is read.
            keys = pa.array(result.keys, pa.string())
        return Swept(store, points, keys, result.computed, search.notes())

    def _asks_otherwise(self, store: StudyStore[StudyRow]) -> bool:
        """Whether the latest sweep had another cap or objective."""
        config = self.config
        return (
            sweep_caps(store)[-1:] != [config.chosen_cap_bytes] or latest_objective(store) != config.objective
        )

    def _executor(self, found: Survey | None) -> Executor:
        settings = self.config.executor

        def estimate() -> float | None:
            return None if found is None else estimated_seconds(found, settings.threads or usable_cores())

        executor, choice = make_executor(settings, estimate)
        if choice.matters and (found is None or found.missing):
            self.say(choice.reason)
        return executor
