"""Many syntheses as one study: topologies × collectives × sizes × synthesizers, resumed, on Ray too."""

from dse.studies.syntheses.case import Case as Case
from dse.studies.syntheses.evaluate import SynthesisEvaluator as SynthesisEvaluator
from dse.studies.syntheses.record import SYNTHESES as SYNTHESES
from dse.studies.syntheses.record import SynthesisRow as SynthesisRow
