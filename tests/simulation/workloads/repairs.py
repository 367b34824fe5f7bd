"""What the tests of realistic workloads share: traces as tensors, and what survives the forward pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dse.inputs.models import REPAIRS_OF, ModelSpec, Repairs
from dse.inputs.strategies import Strategy
from dse.simulation.simulators import NativeSimulator, Outcome
from dse.simulation.workloads import generate
from dse.testing.builders import Node, attribute, parse, system

SMALL = ModelSpec("small", 64, 64, 32, 64, 8, 16, 16, 4, 4, gated_mlp=True)
ONE = Strategy()


def realistic(model: ModelSpec, **repairs: Any) -> ModelSpec:
    """The model with every repair; `repairs` says what is different."""
    return replace(model, fidelity="realistic", repairs=Repairs(**repairs))


def with_only(model: ModelSpec, **repairs: Any) -> ModelSpec:
    """The model as STAGE has it, with these repairs."""
    return replace(model, fidelity="stage", repairs=Repairs(**repairs))


def switched_on(key: str) -> dict[str, Any]:
    """The repair as fidelity `realistic` has it."""
    return {key: getattr(REPAIRS_OF["realistic"], key)}


def counts(model: ModelSpec, strategy: Strategy = ONE) -> dict[str, int]:
    return dict(generate(model, strategy).native.counts(0))


def nodes_of(model: ModelSpec, strategy: Strategy = ONE, rank: int = 0) -> dict[str, Node]:
    """The nodes of a rank by name."""
    return {node["name"]: node for node in parse(generate(model, strategy))[rank]}


def tensors(node: Node, name: str) -> dict[str, int]:
    """Tensor and size of every entry of `inputs` or `outputs`."""
    items = attribute(node, name) or []
    return {items[i]: int(float(items[i + 1])) for i in range(0, len(items), 2)}


def kept_for_backward(model: ModelSpec, strategy: Strategy = ONE) -> int:
    """Bytes that the forward pass writes and something after it reads, on rank 0 of a single stage.

    The forward pass is what the loss depends on.
    """
    nodes = list(nodes_of(model, strategy).values())
    by_id = {node["id"]: node for node in nodes}
    todo = [node["id"] for node in nodes if node["name"] == "out_emb_dy@0_COMP"]
    forward: set[int] = set()
    while todo:
        found = todo.pop()
        if found not in forward:
            forward.add(found)
            todo += by_id[found]["data_deps"]
    written: dict[str, int] = {}
    for found in forward:
        written |= tensors(by_id[found], "outputs")
    read_later = {t for node in nodes if node["id"] not in forward for t in tensors(node, "inputs")}
    return sum(size for tensor, size in written.items() if tensor in read_later)


def simulated(model: ModelSpec, strategy: Strategy, **changes: Any) -> Outcome:
    """The outcome on a ring, memory tracked."""
    on = system(f"Ring {strategy.npus} @1000/50", track_local_memory=True, **changes)
    outcome = NativeSimulator().simulate(generate(model, strategy), on)
    assert outcome.status == "ok", outcome.blocked
    return outcome


def peaks(model: ModelSpec, strategy: Strategy) -> list[int]:
    """Peak memory of each class of ranks."""
    found = [ranks.peak_memory_bytes for ranks in simulated(model, strategy).classes if ranks is not None]
    assert None not in found
    return [peak for peak in found if peak is not None]
