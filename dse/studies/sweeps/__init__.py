"""Sweeps: what a configuration asks for, evaluated where the study lacks it, and written as it finishes."""

from dse.studies.sweeps.dry_run import dry_run
from dse.studies.sweeps.plan import design_points, estimated, survey
from dse.studies.sweeps.provenance import provenance, sweep_name
from dse.studies.sweeps.session import Session
from dse.studies.sweeps.study_run import Progress
from dse.studies.sweeps.writer import StudyWriter

__all__ = [
    "Progress",
    "Session",
    "StudyWriter",
    "design_points",
    "dry_run",
    "estimated",
    "provenance",
    "survey",
    "sweep_name",
]
