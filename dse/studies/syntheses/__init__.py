"""Many syntheses as one study: topologies × collectives × sizes × synthesizers, resumed, on Ray too."""

from dse.studies.syntheses.case import Case
from dse.studies.syntheses.evaluate import SynthesisEvaluator
from dse.studies.syntheses.record import SYNTHESES, SynthesisRow

__all__ = ["SYNTHESES", "Case", "SynthesisEvaluator", "SynthesisRow"]
