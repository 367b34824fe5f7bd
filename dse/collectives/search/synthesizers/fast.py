"""The search that is soon done: the first one of `auto` that fits the links."""

from __future__ import annotations

from dse.collectives.problem.problem import Problem
from dse.collectives.search.synthesizers.base import Effort, Synthesis, Synthesizer
from dse.collectives.search.synthesizers.meshes import Meshes
from dse.collectives.search.synthesizers.restarts import Restarts
from dse.collectives.search.synthesizers.symmetric import Symmetric


class Fast(Synthesizer):
    """Symmetric trees where the links have translations, a rule on large meshes, restarts elsewhere.

    The answer names which of them made it. It follows no clock.
    """

    name = "fast"
    keeps_to_abilities = True

    def synthesize(self, problem: Problem, effort: Effort) -> Synthesis:
        """Return the best schedule found; see Synthesizer.synthesize."""
        symmetric, meshes = Symmetric(), Meshes()
        maker: Synthesizer = meshes if meshes.is_called_for(problem) else Restarts()
        if symmetric.obstacle(problem) is None:
            maker = symmetric
        return maker.synthesize(problem, effort)
