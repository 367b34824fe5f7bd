"""Many syntheses as one study: topologies × collectives × sizes × synthesizers, resumed, on Ray too."""

from dse.syntheses.case import Case
from dse.syntheses.record import SYNTHESES, SynthesisRow
from dse.syntheses.run import missing_cases, run_cases

__all__ = ["SYNTHESES", "Case", "SynthesisRow", "missing_cases", "run_cases"]
