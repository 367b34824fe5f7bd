"""Many syntheses as one study: topologies × collectives × sizes × synthesizers, resumed, on Ray too."""

from dse.studies.syntheses.case import Case
from dse.studies.syntheses.evaluate import SynthesisEvaluator
from dse.studies.syntheses.record import SYNTHESES, SynthesisRow
from dse.studies.syntheses.run import missing_cases, run_cases

__all__ = ["SYNTHESES", "Case", "SynthesisEvaluator", "SynthesisRow", "missing_cases", "run_cases"]
