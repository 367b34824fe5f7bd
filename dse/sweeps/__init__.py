"""Sweeps: what a configuration asks for, evaluated where the study lacks it, and written as it finishes."""

from dse.sweeps.driver import SweepResult, run_sweep
from dse.sweeps.plan import Survey, design_points, estimated_seconds, survey
from dse.sweeps.progress import Progress
from dse.sweeps.provenance import provenance, sweep_name
from dse.sweeps.writer import StudyWriter

__all__ = [
    "Progress",
    "StudyWriter",
    "Survey",
    "SweepResult",
    "design_points",
    "estimated_seconds",
    "provenance",
    "run_sweep",
    "survey",
    "sweep_name",
]
