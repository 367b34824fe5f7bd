"""From keys with lists, such as `chunk_bytes=[64KiB,1MiB]`, to the cases of all combinations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from dse.collectives.problem.reachability import require_ways
from dse.collectives.problem.settings import Network, network_of, problem_of
from dse.collectives.search.chunk_counts import cutting_of
from dse.collectives.search.settings import effort_of, name_of
from dse.inputs.networks.graph import LIMITS
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.fields import ABILITIES
from dse.studies.space.grid import combinations
from dse.studies.syntheses.case import Case

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
