"""From keys with lists, such as `chunk_bytes=[64KiB,1MiB]`, to the cases of all combinations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from dse.base.errors import InputError
from dse.collectives.problem.reachability import require_ways
from dse.collectives.problem.settings import Network, network_of, problem_of
from dse.collectives.search.chunk_counts import cutting_of
from dse.collectives.search.settings import effort_of, name_of
from dse.inputs.systems import SystemSpec
from dse.studies.syntheses.case import Case

_NETWORK = ("topology", "npus", "dimensions", "switches")
_TOO_MANY = 10**6


def entries(key: str, text: str) -> list[str]:
    """Return the entries of `[a,b]`, and a text that is no list as its only one; brackets may be nested.

    Raises:
        InputError: an empty list or entry, or one that occurs twice.
    """
    if not (text.startswith("[") and text.endswith("]")) or key == "dimensions":
        return [text]
    found, depth = [""], 0
    for letter in text[1:-1]:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    found = [entry.strip() for entry in found]
    if not all(found) or len(set(found)) < len(found):
        raise InputError(f"{key} is '{text}'; a list has different entries, as in {key}=[a,b], none empty")
    return found


def combinations(values: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the values of all combinations of lists, the last key varying fastest.

    Raises:
        InputError: a wrong list, or too many combinations.
    """
    lists = {key: entries(key, text) for key, text in values.items()}
    count = 1
    for found in lists.values():
        count *= len(found)
    if count > _TOO_MANY:
        raise InputError(f"the lists make {count} combinations; at most {_TOO_MANY} are one study")
    return [dict(zip(lists, chosen, strict=True)) for chosen in itertools.product(*lists.values())]


def cases(
    values: Mapping[str, str], systems: Sequence[tuple[str, Callable[[], SystemSpec]]]
) -> Iterator[Case]:
    """Yield the cases of all combinations of keys, on topologies, or on `systems` (name and what makes it).

    Raises:
        InputError: as `network_of`, `problem_of`, `effort_of` and `require_ways`.
    """
    networks: dict[tuple[str, ...], Network] = {}
    for chosen in combinations(values):
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
