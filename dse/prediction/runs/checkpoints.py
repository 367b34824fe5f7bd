"""Where checkpoints go, their bytes, and the closed forms of the time between two."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dse.base.errors import InputError
from dse.inputs.models import ModelSpec
from dse.native import _engine
from dse.prediction.steps.frameworks import framework_named
from dse.prediction.steps.native_inputs import step_model
from dse.prediction.steps.plan import Plan

Kind = Literal["async", "sync"]
KINDS: tuple[Kind, ...] = ("async", "sync")
Place = Literal["storage", "peer", "local"]
PLACES: tuple[Place, ...] = ("storage", "peer", "local")


@dataclass(frozen=True)
class Store:
    """Where checkpoints go: `total_gbps` for the whole job and `node_gbps` for a node, 10^9 bytes per second.

    `kind` sync stops the job until all is written; async stops it while the host copies its share of the
    device's memory, and writes behind the steps.

    At `place` peer or local a checkpoint is near: in the memory of another node's host, or of its own. From
    there every `every`-th goes to storage behind the steps. `near_gbps` is what a node writes to its peer
    (None: what its NPUs send together) or to its own disk (None: the memory of the host is the copy).
    """

    total_gbps: float
    node_gbps: float
    kind: Kind = "async"
    place: Place = "storage"
    near_gbps: float | None = None
    every: int = 1

    def __post_init__(self) -> None:
        """Check the rates."""
        for key in ("total_gbps", "node_gbps"):
            if not getattr(self, key) > 0:
                raise InputError(f"checkpoint.{key} is {getattr(self, key)}; it must be above 0")
        for key, allowed in (("kind", KINDS), ("place", PLACES)):
            if getattr(self, key) not in allowed:
                raise InputError(
                    f"checkpoint.{key} is '{getattr(self, key)}'; allowed are {', '.join(allowed)}"
                )
        if self.near_gbps is not None and not self.near_gbps > 0:
            raise InputError(f"checkpoint.near_gbps is {self.near_gbps}; it must be above 0")


def checkpoint_bytes(model: ModelSpec, plan: Plan) -> int:
    """Return the weights and the optimizer's states of all parameters, each once."""
    states = plan.optimizer_bytes or framework_named(plan.framework).memory.optimizer_bytes
    return round(_engine.checkpoint_bytes(step_model(model), states))


def young_interval_s(blocking_s: float, rate: float) -> float:
    """Return sqrt(2 C / L), the interval of Young 1974 for checkpoints of C seconds."""
    return math.sqrt(2 * blocking_s / rate)


def daly_interval_s(blocking_s: float, rate: float) -> float:
    """Return the interval of Daly 2006, equation 37: of higher order in C L, and 1 / L from C L = 2 on."""
    if blocking_s * rate >= 2:
        return 1 / rate
    ratio = math.sqrt(blocking_s * rate / 2)
    return young_interval_s(blocking_s, rate) * (1 + ratio / 3 + ratio**2 / 9) - blocking_s
