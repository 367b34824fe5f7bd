"""Checking the simulator against recorded reference results, in three forms (docs/validation.md)."""

from typing import TYPE_CHECKING

from dse.base.lazy import lazily

if TYPE_CHECKING:
    from dse.simulation.validation.cli_cases import check_standalone as check_standalone
    from dse.simulation.validation.compare import CRASHED as CRASHED
    from dse.simulation.validation.compare import Case as Case
    from dse.simulation.validation.compare import Expected as Expected
    from dse.simulation.validation.compare import Mismatch as Mismatch
    from dse.simulation.validation.compare import check as check
    from dse.simulation.validation.sources import load_cases as load_cases
    from dse.simulation.validation.verdicts import REFERENCES as REFERENCES
    from dse.simulation.validation.verdicts import Verdict as Verdict
    from dse.simulation.validation.verdicts import verdict as verdict

__getattr__ = lazily(
    __name__,
    {
        "cli_cases": "check_standalone",
        "compare": "CRASHED Case Expected Mismatch check",
        "sources": "load_cases",
        "verdicts": "REFERENCES Verdict verdict",
    },
)
