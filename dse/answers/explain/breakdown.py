"""Where the wall time goes: each nanosecond of a rank belongs to exactly one part (docs/explain.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from dse.answers.explain.memory import CATEGORIES, MemoryAtPeak, memory
from dse.base.errors import InputError
from dse.inputs.strategies import AXES as STRATEGY_AXES
from dse.inputs.strategies import DEGREES, GROUPED, TRACED
from dse.prediction.steps.details import GroupCollective, collectives_used
from dse.simulation.simulators import NEVER, RankRecording, RecordedNode, Recording
from dse.simulation.workloads import parse_name
from dse.studies.points import DesignPoint, prediction_of
from dse.studies.points.methods.predicted_columns import parts_ns, range_ns, wall_time_ns
from dse.studies.points.methods.prediction import prediction_inputs

PARTS = {
    "compute_bound": "compute, bound by the NPU's operations per second",
    "memory_bound": "compute, bound by its memory's bandwidth",
    "recompute": "compute that repeats the forward pass, whatever bounds it",
    "other_compute": "compute with a recorded duration, or on the CPU",
    **{
        f"exposed_{axis.name}": f"communication of {axis.meaning.removeprefix('degree of ')}, no compute"
        for axis in STRATEGY_AXES
        if axis.has_groups and axis.in_traces
    },
    "exposed_pp": "messages between pipeline stages under way, nothing else",
    "exposed_comm": "communication of groups whose axis is not known, no compute",
    "remote_memory": "remote memory accesses, no compute",
    "pipeline_bubble": "nothing but waiting for messages that were not yet sent",
    "idle": "nothing at all",
    "finished": "this rank is done, others are not",
}
AXES = (*[name for name in DEGREES if name in TRACED], "comm")

# What counts where several run at once, most important first. One compute node runs at a time, and one of the
# nodes that send; only messages from other ranks (exposed_pp) arrive at the same time.
_PRIORITY = (
    *("compute_bound", "memory_bound", "recompute", "other_compute"),
    *(f"exposed_{axis}" for axis in (*GROUPED, "comm")),
    "remote_memory",
    *("exposed_pp", "pipeline_bubble", "finished"),
)
_BIT = {part: number for number, part in enumerate(_PRIORITY)}

Span = tuple[int, int, str]  # from, until, part


@dataclass(frozen=True)
class Breakdown:
    """How a rank spends the wall time of the point, in ns.

    `rank` is None where the point is predicted (its parts have names of their own). `parts`
    has every name of PARTS, in that order, and sums to `wall_time_ns` exactly. `overlapped` has, for
    each axis, the time in which its communication runs behind something of higher priority; exposed and
    overlapped time of an axis add up to the length of the union of its communication.
    """

    rank: int | None
    wall_time_ns: int
    parts: dict[str, int]
    overlapped: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Plain data: `breakdown` and `overlapped` are lists of {part, ns}."""
        return {
            "rank": self.rank,
            "wall_time_ns": self.wall_time_ns,
            "breakdown": [{"part": part, "ns": ns} for part, ns in self.parts.items()],
            "overlapped": [{"part": axis, "ns": ns} for axis, ns in self.overlapped.items()],
        }


def breakdown(recording: Recording, rank: int | None = None) -> Breakdown:
    """Split the wall time of the point as `rank` spends it: by default the rank that finishes last.

    Raises:
        InputError: ranks deadlock, or neither the rank nor another of its class was recorded.
    """
    if recording.outcome.status != "ok":
        raise InputError(f"there is no wall time to explain: {recording.outcome.reason}")
    entry = recording.last_rank() if rank is None else recording.of(rank)
    wall_time_ns = recording.wall_time_ns
    time_of_mask = _sweep([*_spans(entry), *_tail(entry, wall_time_ns)], wall_time_ns)
    parts = dict.fromkeys(PARTS, 0)
    overlapped = dict.fromkeys(AXES, 0)
    for mask, ns in time_of_mask.items():
        first = (mask & -mask).bit_length() - 1
        parts["idle" if mask == 0 else _PRIORITY[first]] += ns
        for axis in AXES:
            bit = _BIT[f"exposed_{axis}"]
            if mask >> bit & 1 and bit != first:
                overlapped[axis] += ns
    return Breakdown(entry.rank if rank is None else rank, wall_time_ns, parts, overlapped)


def _spans(entry: RankRecording) -> Iterator[Span]:
    for node in entry.nodes:
        if node.kind == "receive" and node.message_ns != NEVER:
            sent_ns = min(max(node.start_ns, node.message_ns), node.end_ns)
            yield node.start_ns, sent_ns, "pipeline_bubble"
            yield sent_ns, node.end_ns, "exposed_pp"
        else:
            yield node.start_ns, node.end_ns, _part(node)


def _part(node: RecordedNode) -> str:
    if node.kind == "compute":
        operator = parse_name(node.name)
        if operator is not None and operator.is_recompute:
            return "recompute"
        return f"{node.bound}_bound" if node.bound else "other_compute"
    if node.kind in ("send", "receive"):
        return "exposed_pp"
    if node.group is None:  # a memory access, or a node that takes no time
        return "remote_memory"
    return f"exposed_{node.group.axis or 'comm'}"


def _tail(entry: RankRecording, wall_time_ns: int) -> Iterator[Span]:
    end_ns = 0 if entry.metrics is None else entry.metrics.wall_time_ns
    yield end_ns, wall_time_ns, "finished"


def _sweep(spans: list[Span], until_ns: int) -> dict[int, int]:
    """Return how long each set of parts is under way, in [0, until_ns); a set is a mask of bits."""
    steps = []
    for start_ns, end_ns, part in spans:
        if start_ns < end_ns:
            steps += [(start_ns, _BIT[part], 1), (end_ns, _BIT[part], -1)]
    steps.sort()
    running = [0] * len(_PRIORITY)
    time_of_mask: defaultdict[int, int] = defaultdict(int)
    mask = now_ns = 0
    for time_ns, bit, change in steps:
        if time_ns > now_ns:
            time_of_mask[mask] += time_ns - now_ns
            now_ns = time_ns
        running[bit] += change
        if running[bit]:
            mask |= 1 << bit
        else:
            mask &= ~(1 << bit)
    time_of_mask[mask] += until_ns - now_ns
    return time_of_mask


@dataclass(frozen=True)
class Explanation:
    """The wall time of the rank that finishes last, and the memory of the rank with the largest peak.

    `memory` is None where memory is not tracked; `notes` say what a prediction rests on, `collectives` which
    algorithm its groups use, `range_ns` from when to when 80 % of such steps end.
    """

    label: str
    time: Breakdown
    memory: MemoryAtPeak | None
    notes: tuple[str, ...] = ()
    collectives: tuple[GroupCollective, ...] = ()
    range_ns: tuple[int, int] | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data: label, wall_time_ns, breakdown, overlapped, memory."""
        return {
            "label": self.label,
            **self.time.to_json(),
            **dict(zip(("wall_time_low_ns", "wall_time_high_ns"), self.range_ns or (), strict=False)),
            "memory": None if self.memory is None else self.memory.to_json(),
            **({"collectives": [asdict(one) for one in self.collectives]} if self.collectives else {}),
            **({"notes": list(self.notes)} if self.notes else {}),
        }


def explain(recording: Recording, label: str = "") -> Explanation:
    """Explain a recording that has the decisive ranks; `label` names the point, such as its strategy.

    Raises:
        InputError: ranks deadlock, or the decisive ranks were not recorded.
    """
    time = breakdown(recording)
    metrics = recording.last_rank().metrics
    tracked = metrics is not None and metrics.peak_memory_bytes is not None
    return Explanation(label, time, memory(recording) if tracked else None)


PREDICTED_PARTS = {
    "matrix_products": "products with weights, in the forward and backward pass, and recomputed ones",
    "attention": "scores and values of attention",
    "memory_bound": "kernels bound by memory: elementwise ones, norms, the loss",
    "launches": "the NPU waits for kernels to be launched",
    "tp": "tensor-parallel collectives, not hidden",
    "cp": "keys and values under context parallelism, not hidden",
    "ep": "tokens on their way to experts and back, not hidden",
    "pp_bubble": "waiting for micro-batches of other pipeline stages",
    "p2p": "messages between pipeline stages, not hidden",
    "dp": "gradients and sharded weights under data parallelism, not hidden",
    "optimizer": "update of the weights",
}
PREDICTED_CATEGORIES = {
    "weights": "weights",
    "gradients": "gradients of weights",
    "optimizer": "states of the optimiser, with master weights",
    "activations": "what the backward pass needs, of all micro-batches in flight",
    "communication": "buffers of collectives",
    "workspace": "temporary results of kernels",
    "reserve": "what the allocator holds beyond that, and the context of the device",
}
MEANINGS = PREDICTED_PARTS | PARTS
"""A sentence for each part of any explanation."""

CATEGORY_MEANINGS = PREDICTED_CATEGORIES | CATEGORIES
"""A sentence for each category of any explanation."""


def explain_prediction(point: DesignPoint) -> Explanation:
    """Explain a predicted point.

    The parts sum to the wall time of its row, and the categories to its peak memory, exactly. Nothing
    overlaps in them: of what hides behind something else only the rest is a part.

    Raises:
        InfeasibleStrategy, InputError: as `prediction_of`.
    """
    prediction = prediction_of(point)
    memory = {name: prediction.memory_bytes[name] for name in PREDICTED_CATEGORIES}
    return Explanation(
        label=point.strategy.label(),
        time=Breakdown(None, wall_time_ns(prediction), parts_ns(prediction), {}),
        memory=MemoryAtPeak(None, prediction.peak_memory_bytes, None, None, None, memory, ()),
        notes=tuple(prediction.notes),
        collectives=collectives_used(*prediction_inputs(point)),
        range_ns=range_ns(prediction),
    )
