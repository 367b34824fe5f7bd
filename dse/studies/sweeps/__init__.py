"""Sweeps: what a configuration asks for, evaluated where the study lacks it, and written as it finishes."""

from dse.studies.sweeps.driver import SweepResult, run_sweep
from dse.studies.sweeps.dry_run import dry_run
from dse.studies.sweeps.plan import Survey, design_points, estimated, estimated_seconds, survey
from dse.studies.sweeps.progress import Progress
from dse.studies.sweeps.provenance import provenance, sweep_name
from dse.studies.sweeps.session import Session, Swept
from dse.studies.sweeps.writer import StudyWriter

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
    "provenance",
    "run_sweep",
    "survey",
    "sweep_name",
]
