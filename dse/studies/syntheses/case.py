"""One synthesis of a study: the problem, who is to solve it, and how hard."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from dse.collectives import Problem
from dse.collectives.problem.reachability import require_ways
from dse.collectives.problem.settings import Network, network_of, problem_of
from dse.collectives.search.chunk_counts import Cutting, cutting_of
from dse.collectives.search.settings import effort_of, name_of
from dse.collectives.search.synthesizers import Effort
from dse.inputs.networks.graph import LIMITS
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.fields import ABILITIES
from dse.studies.space.grid import combinations

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


_NETWORK = ("topology", "npus", "dimensions", "switches", *ABILITIES, *LIMITS)


def cases(
    values: Mapping[str, str], systems: Sequence[tuple[str, Callable[[], SystemSpec]]]
) -> Iterator[Case]:
    """Yield the cases of all combinations of keys, on topologies, or on `systems` (name and what makes it).

    Raises:
        InputError: as `network_of`, `problem_of`, `effort_of` and `require_ways`.
    """
    networks: dict[tuple[str, ...], Network] = {}
    for chosen in combinations(values, whole=("dimensions", *ABILITIES)):
        for name, system in systems or (("", None),):
            place = (name, *(chosen.get(key, "") for key in _NETWORK))
            effort = effort_of(chosen)
            if place not in networks:
                networks[place] = network_of(chosen, system, effort.deadline)
            cutting = cutting_of(networks[place], chosen)
            problem, _ = cutting.problem(1) if cutting else problem_of(networks[place], chosen)
            require_ways(problem)
            yield Case(
                networks[place].name,
                problem,
                name_of(chosen),
                effort.seed,
                effort.trials,
                effort.time_limit_s,
                cutting,
            )
