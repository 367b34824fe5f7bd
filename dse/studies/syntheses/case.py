"""One synthesis of a study: the problem, who is to solve it, and how hard."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from dse.collectives import Problem
from dse.collectives.search.chunk_counts import Cutting
from dse.collectives.search.synthesizers import Effort

VERSION = 1
"""Raised when the same case may give another schedule."""


@dataclass(frozen=True, eq=False)
class Case:
    """A problem on the `topology` of this name, and the search; with a time limit, results depend on load.

    `cutting`: the problem is that of one chunk an NPU, and the search chooses how many there are.
    """

    topology: str
    problem: Problem
    synthesizer: str = "auto"
    seed: int = 0
    trials: int = Effort.trials
    time_limit_s: float | None = None
    cutting: Cutting | None = None

    @property
    def effort(self) -> Effort:
        """The effort of the search."""
        return Effort(seed=self.seed, trials=self.trials, time_limit_s=self.time_limit_s)

    @cached_property
    def key(self) -> str:
        """A hash of all that the schedule depends on; not of the topology's name."""
        problem = self.problem
        model = problem.model._asdict()
        if not problem.cuts_through:  # rows from before switches could cut through keep their keys
            del model["forwarding"]
        inputs: dict[str, Any] = {
            "version": VERSION,
            "graph": problem.graph.digest,
            "collective": asdict(problem.collective),
            "chunk_bytes": str(problem.chunk_bytes),
            "model": model,
            "search": [self.synthesizer, self.seed, self.trials, self.time_limit_s],
        }
        if self.cutting is not None:
            inputs["cut"] = self.cutting.operation_bytes
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
