"""Sweeps: what a configuration asks for, evaluated where the study lacks it, and written as it finishes."""

from dse.studies.sweeps.dry_run import dry_run as dry_run
from dse.studies.sweeps.plan import design_points as design_points
from dse.studies.sweeps.plan import estimated as estimated
from dse.studies.sweeps.plan import survey as survey
from dse.studies.sweeps.provenance import provenance as provenance
from dse.studies.sweeps.provenance import sweep_name as sweep_name
from dse.studies.sweeps.session import Session as Session
from dse.studies.sweeps.study_run import Progress as Progress
from dse.studies.sweeps.writer import StudyWriter as StudyWriter
