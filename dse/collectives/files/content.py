"""The content of a file of a schedule: its sends, and what it says about them."""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.lazy import np
from dse.base.numbers import exact_decimal
from dse.base.settings import check_choice, check_whole
from dse.collectives.problem.collective import MOST_CHUNKS, Collective, Part
from dse.collectives.problem.problem import LINK_CHOICES, LinkModel, Problem
from dse.collectives.problem.recorded_sends import SendTable
from dse.inputs.networks import LinkGraph
from dse.inputs.networks.graph import LIMITS

ABILITIES = ("cannot_copy", "cannot_add")
"""Lists of switches in files, left out where all can."""
_MOST = MOST_CHUNKS - 1


@dataclass(frozen=True)
class ScheduleFile:
    """The sends of a file, and what else it says; None where it does not.

    `graph` are the links that it lists, `problem` all that its sends are to solve, `about` notes by name.
    """

    sends: SendTable
    npus: int | None = None
    links: int | None = None
    chunks: int | None = None
    chunk_bytes: Fraction | None = None
    time_ps: int | None = None
    graph: LinkGraph | None = None
    problem: Problem | None = None
    about: dict[str, Any] = field(default_factory=dict)


def problem_to_json(problem: Problem) -> dict[str, Any]:
    """Return a problem without its graph as plain data."""
    collective = problem.collective
    conditions = {
        name: [list(pair) for pair in getattr(collective, name)]
        for name in ("preconditions", "postconditions")
    }
    return {
        "collective": collective.name,
        "npus": collective.npus,
        "chunks_per_npu": collective.chunks_per_npu,
        "root": collective.root,
        **{name: pairs for name, pairs in conditions.items() if pairs},
        **({"parts": [part._asdict() for part in collective.parts]} if collective.parts else {}),
        "chunk_bytes": str(problem.chunk_bytes),
        **problem.model._asdict(),
        **{name: sorted(getattr(problem.graph, name)) for name in ABILITIES if getattr(problem.graph, name)},
        **{name: list(getattr(problem.graph, name)) for name in LIMITS if getattr(problem.graph, name)},
        "topology_sha256": problem.graph.digest,
    }


def problem_of_json(data: dict[str, Any], graph: LinkGraph) -> Problem:
    """Return the problem of plain data on a graph; the reverse of `problem_to_json`.

    Raises:
        InputError, KeyError, TypeError, ValueError: an entry is missing, or is something else.
    """
    npus = check_whole("npus", data["npus"], 1, graph.npus)
    before, after = (
        tuple(
            (
                check_whole(f"NPU of {name}", npu, 0, npus - 1),
                check_whole(f"chunk of {name}", chunk, 0, _MOST),
            )
            for npu, chunk in data.get(name, ())
        )
        for name in ("preconditions", "postconditions")
    )
    parts = tuple(_part(part, npus) for part in data.get("parts", ()))
    per_npu = check_whole("chunks_per_npu", data["chunks_per_npu"], 1, _MOST)
    root = check_whole("root", data["root"], 0, npus - 1)
    collective = Collective(data["collective"], npus, per_npu, root, before, after, parts)
    said = {"forwarding": "stored", **data}  # older files have no forwarding
    for name, allowed in LINK_CHOICES.items():
        check_choice(name, str(said[name]), allowed)
    model = LinkModel(**{name: said[name] for name in LINK_CHOICES})
    lacks = [
        frozenset(
            check_whole(f"node of {name}", node, graph.npus, graph.nodes - 1) for node in data.get(name, ())
        )
        for name in ABILITIES
    ]
    sends, receives = (
        tuple(
            (check_whole(f"NPU of {name}", npu, 0, graph.npus - 1), check_whole(name, most, 1, _MOST))
            for npu, most in data.get(name, ())
        )
        for name in LIMITS
    )
    graph = replace(graph, cannot_copy=lacks[0], cannot_add=lacks[1], max_sends=sends, max_receives=receives)
    return Problem(graph, collective, fraction_of(data["chunk_bytes"], "chunk_bytes"), model)


def _part(data: dict[str, Any], npus: int) -> Part:
    """One of several collectives, among a group of NPUs."""
    group = tuple(check_whole("NPU of a group", npu, 0, npus - 1) for npu in data["group"])
    if not group or len(set(group)) < len(group):
        raise InputError(f"group is {excerpt(repr(data['group']))}; it must list NPUs, each once")
    per_npu = check_whole("chunks_per_npu", data["chunks_per_npu"], 1, _MOST)
    root = check_whole("place of a root", data["root"], 0, len(group) - 1)
    return Part(str(data["name"]), group, per_npu, root, check_whole("priority", data["priority"], 0, _MOST))


def fraction_of(value: Any, what: str) -> Fraction:
    """Return the number of a text such as `1048576`, `0.5` or `1/3`.

    Raises:
        ValueError: another text, or one of too many digits; the message begins with `what`.
    """
    over, divided, under = str(value).partition("/")
    try:
        number = exact_decimal(over, where=what)
        return number / exact_decimal(under, where=what) if divided else number
    except (InputError, ZeroDivisionError) as error:
        raise ValueError(str(error)) from None


def to_json_text(data: Any) -> str:
    """Return data as JSON on one line."""
    return json.dumps(data, separators=(",", ":"))


class Columns:
    """Grows by one send at a time."""

    def __init__(self) -> None:
        self._columns = [array("q") for _ in range(6)]

    def add(self, source: int, destination: int, chunk: int, start_ps: int, end_ps: int, adds: bool) -> None:
        """Append a send; all numbers fit 64 bits."""
        values = (source, destination, chunk, start_ps, end_ps, int(adds))
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)

    def table(self) -> SendTable:
        """Return all of them."""
        source, destination, chunk, start, end, adds = (
            np.array(column, dtype=np.int64) for column in self._columns
        )
        return SendTable(source, destination, chunk, start, end, adds.astype(np.bool_))
