"""The tensors that fill the memory of a rank at its peak (docs/explain.md)."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from dse.base.errors import InputError
from dse.simulation.simulators import NEVER, RankRecording, RecordedNode, RecordedTensor, Recording
from dse.simulation.workloads import parse_name

CATEGORIES = {
    "weights": "weights, those that updates have just written included",
    "gradients": "gradients of weights",
    "optimizer_state": "state of the optimiser; the reference's updates have none",
    "activations": "results of the forward pass, recomputed ones included",
    "activation_gradients": "results of the backward pass",
    "buffers": "gathered copies, and what other pipeline stages send, from when their receive is posted",
    "inputs": "tensors that no node of the rank writes, except weights",
    "other": "tensors whose names say nothing",
}
_CATEGORY_OF_ROLE = {
    "weight": "weights",
    "optimizer_state": "optimizer_state",
    "gathered": "buffers",
    "gradient": "gradients",
    "activation": "activations",
    "activation_gradient": "activation_gradients",
    "received": "buffers",
}


@dataclass(frozen=True)
class MemoryItem:
    """Tensors of an operator of a layer (None means an embedding, or unknown) that are alive at the peak."""

    category: str
    layer: int | None
    operator: str
    bytes: int


@dataclass(frozen=True)
class MemoryAtPeak:
    """Tensors that are alive when the memory of `rank` first reaches its peak.

    `categories` has every name of CATEGORIES, in that order, and sums to `peak_memory_bytes` exactly; so do
    `items`, largest first. `node` is the name of the node that runs then, and `operator` the same for people;
    both are None if none does. Of a predicted point only the
    peak and its categories are known, which are those of `dse.answers.explain.breakdown`.
    """

    rank: int | None
    peak_memory_bytes: int
    at_ns: int | None
    node: str | None
    operator: str | None
    categories: dict[str, int]
    items: tuple[MemoryItem, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data: `categories` is a list of {category, bytes}, `items` one of objects."""
        categories = [{"category": name, "bytes": size} for name, size in self.categories.items()]
        return {**asdict(self), "categories": categories, "items": [asdict(item) for item in self.items]}


def memory(recording: Recording, rank: int | None = None) -> MemoryAtPeak:
    """Return what fills the memory of `rank` at its peak: by default of the rank with the largest peak.

    Raises:
        InputError: memory was not tracked; no rank finishes; or no rank of that class was recorded.
    """
    entry = recording.fullest_rank() if rank is None else recording.of(rank)
    curve = entry.memory_curve()
    if not curve:
        if entry.metrics is not None and entry.metrics.peak_memory_bytes is None:
            raise InputError("memory was not tracked; set system.track_local_memory=true")
        curve = [(0, 0)]
    at_ns, peak = max(curve, key=lambda point: point[1])  # the first one on ties
    categories = dict.fromkeys(CATEGORIES, 0)
    items: Counter[tuple[str, int | None, str]] = Counter()
    for tensor in entry.tensors:
        if tensor.birth_ns <= at_ns and (tensor.death_ns == NEVER or at_ns < tensor.death_ns):
            key = _classify(tensor)
            categories[key[0]] += tensor.bytes
            items[key] += tensor.bytes
    running = _running(entry, at_ns)
    node = None if running is None else running.name
    name = None if node is None else parse_name(node)
    return MemoryAtPeak(
        rank=entry.rank if rank is None else rank,
        peak_memory_bytes=peak,
        at_ns=at_ns,
        node=node,
        operator=node if name is None else name.title,
        categories=categories,
        items=tuple(MemoryItem(*key, size) for key, size in sorted(items.items(), key=_largest_first)),
    )


def _classify(tensor: RecordedTensor) -> tuple[str, int | None, str]:
    name = parse_name(tensor.name)
    if name is None:
        return "inputs" if tensor.is_external else "other", None, tensor.name
    category = _CATEGORY_OF_ROLE[name.role]
    if tensor.is_external and category not in ("weights", "optimizer_state"):
        category = "inputs"
    return category, name.layer, f"{name.block} {name.label}"


def _largest_first(item: tuple[tuple[str, int | None, str], int]) -> tuple[int, str, int, str]:
    (category, layer, operator), size = item
    return -size, category, -1 if layer is None else layer, operator


def _running(entry: RankRecording, at_ns: int) -> RecordedNode | None:
    """The compute node that runs at a time, or else another node that does, or has been sent to the rank."""
    running = [node for node in entry.nodes if node.start_ns <= at_ns and not 0 <= node.end_ns <= at_ns]
    order = {"compute": 0, "receive": 2}
    return min(running, key=lambda node: (order.get(node.kind, 1), node.node), default=None)
