"""Nodes as slices on tracks: compute, and one track a communicator group; lanes where they overlap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dse.base.units import format_bytes
from dse.simulation.simulators import NEVER, RankRecording, RecordedNode
from dse.simulation.workloads import parse_name

COMPUTE, CPU = "compute", "cpu compute"


@dataclass(frozen=True)
class Slice:
    """A node as it is drawn: from `start_ns` until `end_ns` on a thread of a process."""

    node: RecordedNode
    rank_class: int
    name: str
    category: str
    start_ns: int
    end_ns: int
    thread: int

    @property
    def duration_ns(self) -> int:
        """Length, 0 for nodes that take no time."""
        return self.end_ns - self.start_ns


@dataclass
class Threads:
    """Numbers the threads of a timeline; every lane of a track is one."""

    names: list[tuple[int, str]] = field(default_factory=list)  # rank class and name, by number

    def add(self, rank_class: int, name: str) -> int:
        """Return the number of a new thread."""
        self.names.append((rank_class, name))
        return len(self.names) - 1


def slices_of(entry: RankRecording, threads: Threads, end_ns: int) -> Iterator[Slice]:
    """Return the slices of a rank. What never ends lasts until `end_ns`.

    Receives are posted as soon as they can be, often at 0; they are drawn while their message is under way.
    """
    tracks: defaultdict[str, list[tuple[int, int, RecordedNode]]] = defaultdict(list)
    for node in entry.nodes:
        until_ns = max(end_ns, node.start_ns) if node.end_ns == NEVER else node.end_ns
        sent_ns = min(max(node.start_ns, node.message_ns), until_ns)
        tracks[_track(node)].append((sent_ns, until_ns, node))
    for track in sorted(tracks, key=_track_order):
        for thread_name, lane in _lanes(track, tracks[track]):
            thread = threads.add(entry.rank_class, thread_name)
            for start_ns, until_ns, node in lane:
                name, category = _name(node), _category(node)
                yield Slice(node, entry.rank_class, name, category, start_ns, until_ns, thread)


def arguments(node: RecordedNode) -> dict[str, str | int | float]:
    """Return what is worth knowing about a node when its slice is selected."""
    known: dict[str, str | int | float] = {"node": node.id, "name in the trace": node.name}
    known["bytes"] = node.bytes
    if node.kind == "compute":
        known["operations"] = node.num_ops
    if node.bound:
        known["bound by"] = node.bound
    if node.group is not None:
        known["group"] = node.group.title(most=64)
    if node.peer >= 0:
        known["peer rank"] = node.peer
    if node.kind == "receive":
        known["posted at ns"] = node.start_ns
    return known


def _track(node: RecordedNode) -> str:
    if node.kind == "compute":
        return CPU if node.on_cpu else COMPUTE
    if node.group is not None:
        return node.group.title()
    if node.kind == "send":
        return f"send to rank {node.peer}"
    if node.kind == "receive":
        return f"receive from rank {node.peer}"
    return "remote memory"


def _track_order(track: str) -> tuple[int, str]:
    first = (COMPUTE, CPU)
    return (first.index(track), "") if track in first else (len(first), track)


def _lanes(
    track: str, spans: Iterable[tuple[int, int, RecordedNode]]
) -> Iterator[tuple[str, list[tuple[int, int, RecordedNode]]]]:
    """Spread spans over as few lanes as they need to never overlap."""
    lanes: list[list[tuple[int, int, RecordedNode]]] = []
    for span in sorted(spans, key=lambda span: (span[0], span[1], span[2].node)):
        free = next((lane for lane in lanes if lane[-1][1] <= span[0]), None)
        if free is None:
            lanes.append([span])
        else:
            free.append(span)
    for number, lane in enumerate(lanes):
        yield (track if number == 0 else f"{track} ({number + 1})"), lane


def _name(node: RecordedNode) -> str:
    operator = parse_name(node.name)
    title = node.name if operator is None else operator.title
    if node.kind != "compute":
        title = f"{node.kind} {format_bytes(node.bytes)}: {title}"
    return f"{title} (never ends)" if node.end_ns == NEVER else title


def _category(node: RecordedNode) -> str:
    if node.kind != "compute":
        return "communication" if node.group is not None or node.peer >= 0 else "memory"
    operator = parse_name(node.name)
    if operator is not None and operator.is_recompute:
        return "recompute"
    return f"{node.bound}-bound" if node.bound else "compute"
