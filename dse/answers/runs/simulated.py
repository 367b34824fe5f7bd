"""Where the time of simulated traces goes: parts, classes of nodes, groups, and the path to the end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from dse.answers.explain.breakdown import MEANINGS, breakdown
from dse.answers.runs.parts import Parts, Section, Share, largest, sections
from dse.base.units import format_duration_ns
from dse.simulation.simulators import NEVER, RankRecording, RecordedNode, Recording
from dse.simulation.workloads import parse_name

_NUMBERS = re.compile(r"\d+")


def parts_of_recording(recording: Recording) -> Parts:
    """Return the parts of the wall time of the rank that finishes last.

    Raises:
        InputError: ranks deadlock.
    """
    entry = recording.last_rank()
    time = breakdown(recording)
    spent = tuple([Share(part, ns, MEANINGS[part]) for part, ns in time.parts.items() if ns])
    hidden = sum(time.overlapped.values())
    path = critical_path(entry)
    on_path: Counter[str] = Counter()
    for node, ns in path:
        on_path["waiting" if node is None else kind_of(node)] += ns
    return Parts(
        time.wall_time_ns,
        entry.rank,
        sections(
            [
                Section("parts, which add up", spent),
                _summed("computation by class of nodes", entry, lambda node: node.kind == "compute", name_of),
                _summed("communication by group", entry, lambda node: node.group is not None, group_of),
                _summed("messages by peer", entry, lambda node: node.peer >= 0, _message),
                Section("the path that decides when this rank ends", largest(on_path)),
            ]
        ),
        (f"{format_duration_ns(hidden)} of communication are hidden behind other parts",) if hidden else (),
    )


def critical_path(entry: RankRecording) -> list[tuple[RecordedNode | None, int]]:
    """Return what decides when a rank ends, from its last node back to time 0, with the time that it adds.

    A node follows the parent that ended last, or, if it began later, the node whose end freed its resource.
    None is time in which the rank waited for neither.
    """
    of_number = {node.node: node for node in entry.nodes}
    ended = [node for node in entry.nodes if node.end_ns != NEVER]
    ending: dict[int, list[RecordedNode]] = {}
    for node in ended:
        if node.end_ns > node.start_ns:
            ending.setdefault(node.end_ns, []).append(node)
    found: list[tuple[RecordedNode | None, int]] = []
    last = max(ended, key=lambda each: (each.end_ns, -each.node), default=None)
    while last is not None:
        found.append((last, last.end_ns - last.start_ns))
        parents = [of_number[number] for number in last.parents if number in of_number]
        before = max(parents, key=lambda each: (each.end_ns, -each.node), default=None)
        if before is None or before.end_ns < last.start_ns:
            kind = last.kind
            freed = sorted(ending.get(last.start_ns, []), key=lambda each: (each.kind != kind, each.node))
            before = freed[0] if freed else before
        waited_ns = last.start_ns - (0 if before is None else before.end_ns)
        if waited_ns > 0:
            found.append((None, waited_ns))
        last = before
    return found


def kind_of(node: RecordedNode) -> str:
    """Return the kind of a node on a path: computation, or its collective and group."""
    return "computation" if node.kind == "compute" else group_of(node) if node.group else node.kind


def name_of(node: RecordedNode) -> str:
    """Return the class of a node by its name: of generated traces the operator, else without numbers."""
    operator = parse_name(node.name)
    return (
        f"{operator.block} {operator.label}" if operator else _NUMBERS.sub("#", node.name)[:26] or "unnamed"
    )


def group_of(node: RecordedNode) -> str:
    """Return the collective and the group of a node."""
    assert node.group is not None
    return f"{node.kind}, {node.group.title(most=6)}"


def _message(node: RecordedNode) -> str:
    return f"{node.kind} {'to' if node.kind == 'send' else 'from'} rank {node.peer}"


def _summed(
    title: str,
    entry: RankRecording,
    is_meant: Callable[[RecordedNode], bool],
    name: Callable[[RecordedNode], str],
) -> Section:
    times: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for node in entry.nodes:
        if is_meant(node) and node.end_ns != NEVER:
            times[name(node)] += node.end_ns - node.start_ns
            counts[name(node)] += 1
    return Section(title, largest(times, counts))
