"""Copy engines: over how many links an NPU sends, and receives, at once, as keys say.

A send takes an engine of its sender while its bytes enter the link, and one of its receiver for as long,
until they have arrived.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from dse.base.errors import InputError
from dse.base.lazy import np
from dse.base.settings.values import Values
from dse.collectives.problem.problem import Problem
from dse.inputs.networks.graph import LIMITS, LinkGraph

_PAIRS = re.compile(r"\{\d{1,9}:\d{1,9}(,\d{1,9}:\d{1,9})*\}", re.ASCII)


def with_engines(graph: LinkGraph, values: Values) -> LinkGraph:
    """Return the graph whose NPUs drive as many links at once as `max_sends` and `max_receives` say.

    A limit that an NPU cannot reach, as it has no more links, is left out.

    Raises:
        InputError: another text, no such NPU, or a limit of 0.
    """
    limits: dict[str, Any] = {}
    for name, ends in zip(LIMITS, (graph.sources, graph.destinations), strict=True):
        if name not in values:
            continue
        links = np.bincount(ends, minlength=graph.nodes)
        asked = _limits_of(name, values[name].replace(" ", ""), graph.npus)
        limits[name] = tuple((npu, most) for npu, most in asked if most < links[npu])
    return replace(graph, **limits) if limits else graph


def refuse_engines(problem: Problem, key: str) -> None:
    """Refuse a key whose answer would not keep to the limits of NPUs.

    Raises:
        InputError: some NPU has a limit.
    """
    if problem.graph.has_engines:
        raise InputError(
            f"{key} does not go with max_sends or max_receives, as no schedule is played again within them; "
            f"leave {key} out, or the limits"
        )


def _limits_of(name: str, text: str, npus: int) -> list[tuple[int, int]]:
    if re.fullmatch(r"\d{1,9}", text, re.ASCII):
        pairs = [(npu, int(text)) for npu in range(npus)]
    elif _PAIRS.fullmatch(text):
        found = [tuple(map(int, pair.split(":"))) for pair in text.strip("{}").split(",")]
        pairs = sorted((npu, most) for npu, most in found)
    else:
        raise InputError(f"{name} is '{text}'; it must be a number for all NPUs, or such as {{0:2,3:1}}")
    for place, (npu, most) in enumerate(pairs):
        if npu >= npus or (place and pairs[place - 1][0] == npu):
            why = "is twice in it" if npu < npus else f"is no NPU; NPUs are 0 to {npus - 1}"
            raise InputError(f"{name} is '{text}', but node {npu} {why}")
        if most == 0:
            raise InputError(f"{name} is '{text}'; an NPU drives 1 link at once or more")
    return pairs
