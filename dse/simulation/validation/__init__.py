"""Checking the simulator against recorded reference results, in three forms (docs/validation.md)."""

from dse.simulation.validation.cases import CRASHED, Case, Expected, Mismatch
from dse.simulation.validation.cli_cases import check_standalone
from dse.simulation.validation.compare import check
from dse.simulation.validation.sources import load_cases
from dse.simulation.validation.verdicts import REFERENCES, Verdict, verdict

__all__ = [
    "CRASHED",
    "REFERENCES",
    "Case",
    "Expected",
    "Mismatch",
    "Verdict",
    "check",
    "check_standalone",
    "load_cases",
    "verdict",
]
