"""The cases that a study lacks, synthesised here or by Ray; rows are stored as they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dse.studies.executors import ExecutorSettings
from dse.studies.store import StudyStore
from dse.studies.sweeps import cases as any_cases
from dse.studies.sweeps.cases import missing_cases
from dse.studies.syntheses.case import Case
from dse.studies.syntheses.evaluate import SynthesisEvaluator
from dse.studies.syntheses.record import SynthesisRow

__all__ = ["missing_cases", "run_cases"]


def run_cases(
    cases: Sequence[Case],
    store: StudyStore[SynthesisRow],
    executor: ExecutorSettings,
    on_row: Callable[[SynthesisRow], None] = lambda _: None,
) -> int:
    """Synthesise cases and store their rows; return how many. What is stored when it is interrupted stays.

    Raises:
        InputError: the study cannot be written, or Ray does not start.
    """
    return any_cases.run_cases(cases, SynthesisEvaluator(), store, executor, on_row)
