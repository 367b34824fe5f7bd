"""The synthesizers by name; packages may add others as entry points of `dse.synthesizers`."""

from dse.collectives.search.synthesizers.base import Effort, Progress, Synthesis, Synthesizer

__all__ = ["Effort", "Progress", "Synthesis", "Synthesizer"]
