"""Sweeps: what a configuration asks for, evaluated where the study lacks it, and written as it finishes."""

from dse.sweeps.answer import sweep_answer
from dse.sweeps.driver import SweepResult, run_sweep
from dse.sweeps.dry_run import dry_run
from dse.sweeps.foreign import foreign_inputs
from dse.sweeps.plan import Survey, design_points, estimated, estimated_seconds, survey
from dse.sweeps.progress import Progress
from dse.sweeps.provenance import provenance, sweep_name
from dse.sweeps.session import Session, Swept
from dse.sweeps.writer import StudyWriter

__all__ = [
    "Progress",
    "Session",
    "StudyWriter",
    "Survey",
    "SweepResult",
    "Swept",
    "design_points",
    "dry_run",
    "estimated",
    "estimated_seconds",
    "foreign_inputs",
    "provenance",
    "run_sweep",
    "survey",
    "sweep_answer",
    "sweep_name",
]
