"""One rank of a recorded step: its files, its step, its nodes and its communications."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import accumulate

from dse.base.errors import InputError, excerpt
from dse.base.texts import counted
from dse.simulation.recorded.pytorch.devices import add_devices
from dse.simulation.recorded.pytorch.execution_trace import ExecutionTrace, Group
from dse.simulation.recorded.pytorch.kineto import KinetoTrace, Step
from dse.simulation.recorded.pytorch.nodes import RankNodes
from dse.simulation.recorded.pytorch.threads import add_threads, join_backward
from dse.simulation.recorded.pytorch.waits import add_waits
from dse.simulation.recorded.pytorch.works import Work, host_works
from dse.simulation.recorded.step import NodeKind

_NODE_KINDS = {"send": NodeKind.SEND, "receive": NodeKind.RECEIVE}


@dataclass(eq=False)
class RecordedRank:
    """The step of a rank. Times are ns of its own clock; `works` are in the order of their calls."""

    rank: int
    host_name: str
    step: Step
    nodes: RankNodes
    works: list[Work]
    groups: tuple[Group, ...]
    notes: list[str]


def recorded_rank(trace: ExecutionTrace, kineto: KinetoTrace, step: Step) -> RecordedRank:
    """Return the part of a rank in a step.

    Raises:
        InputError: the step holds no operator.
    """
    host, notes = kineto.host, list[str]()
    events = [event for event, begin in enumerate(host.begin_ns) if step.begin_ns <= begin < step.end_ns]
    if not events:
        raise InputError(f"{kineto.path}: its step holds no operator; was the profiler told to record CPUs?")
    works, without_work = host_works(host, kineto.works, trace, events)
    known = [work for work in works if not work.is_message or work.peer >= 0]
    _note_unknown(works, known, kineto.rank, notes)
    works = known
    busy = Spans((work.runs_on, work.begin, work.end) for work in works if work.runs_on is not None)
    updates = Spans(kineto.updates)
    nodes = RankNodes()
    own = [event for event in events if not busy.hold(host.thread[event], host.begin_ns[event])]
    add_threads(nodes, host, own, _names(kineto, works, step), (step.thread, step.end_ns))
    join_backward(nodes, step.thread)
    for work in works:
        _add_work(nodes, work)
    if unawaited := add_waits(nodes, works, host, own, trace):
        notes.append(
            f"{counted(unawaited, 'communication')} of rank {kineto.rank} for which nothing in the step "
            "is seen to wait"
        )
    nodes.name_updates(event for event in own if updates.hold(host.thread[event], host.begin_ns[event]))
    groups = {group.name: group for group in (*kineto.groups, *trace.groups)}
    if kineto.device:
        launches: dict[Hashable, int] = {}
        for event in own:
            correlation = host.args[event].get("correlation")
            if type(correlation) is int:
                launches[correlation] = event
        kernels, lost = add_devices(nodes, host, kineto.device, launches, trace, kineto.world_size)
        known = [
            work
            for work in kernels
            if work.kind
            and (not work.is_message or work.peer >= 0)
            and (not work.group or work.members or work.group in groups)
        ]
        _note_unknown(kernels, known, kineto.rank, notes)
        works = works + known
        if lost:
            notes.append(
                f"{counted(lost, 'kernel')} of rank {kineto.rank} without a launch in the step: dropped"
            )
    elif without_work:
        notes.append(
            f"{counted(without_work, 'communication')} of rank {kineto.rank} issued without any work of "
            "gloo: taken as work of the host"
        )
    return RecordedRank(kineto.rank, kineto.host_name, step, nodes, works, tuple(groups.values()), notes)


def _note_unknown(works: list[Work], known: list[Work], rank: int, notes: list[str]) -> None:
    if len(works) > len(known):
        names = ", ".join(sorted({excerpt(work.name) for work in works if work not in known})[:3])
        notes.append(
            f"{counted(len(works) - len(known), 'communication')} of rank {rank} ({names}) whose kind, "
            "peer or process group the trace does not say: replayed as they were, without waiting for other "
            "ranks"
        )


def _names(kineto: KinetoTrace, works: list[Work], step: Step) -> dict[int, str]:
    """Return the names of the threads: numbers of processes would differ from rank to rank."""
    names = dict(kineto.threads)
    gloo = sorted({work.runs_on for work in works if work.runs_on is not None})
    names.update((thread, f"gloo thread {at + 1}") for at, thread in enumerate(gloo))
    names[step.thread] = "main thread"
    return names


def _add_work(nodes: RankNodes, work: Work) -> None:
    """Add the node of a work; a message gets a lane of its own later, as its thread goes on meanwhile."""
    lane = -1 if work.runs_on is None else nodes.lane_of(nodes.thread_names[work.runs_on])
    kind = _NODE_KINDS.get(work.kind, NodeKind.COLLECTIVE)
    work.row = nodes.add(work.name, kind, lane, work.begin, work.end)
    launcher = nodes.launched_by(work.call, work.thread, work.begin)
    if launcher >= 0:
        nodes.add_before(work.row, launcher)


class Spans:
    """Spans on threads, which may overlap; each holds its begin and not its end."""

    def __init__(self, spans: Iterable[tuple[int, int, int]]) -> None:
        """`spans` are thread, begin and end, in any order."""
        ordered: dict[int, list[tuple[int, int]]] = {}
        for thread, begin, end in sorted(spans):
            ordered.setdefault(thread, []).append((begin, end))
        self._begins = {thread: [begin for begin, _ in own] for thread, own in ordered.items()}
        self._reached = {
            thread: list(accumulate((end for _, end in own), max)) for thread, own in ordered.items()
        }

    def hold(self, thread: int, time: int) -> bool:
        """Return whether a span on a thread holds a moment."""
        at = bisect_right(self._begins.get(thread, ()), time) - 1
        return at >= 0 and time < self._reached[thread][at]
