"""Rules of predicted points: which settings each way to answer has, and which strategies can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.base.errors import InputError
from dse.inputs.accelerators.algorithms import DEFAULT_ALGORITHMS
from dse.inputs.models import REPAIRS, ModelSpec
from dse.inputs.strategies import Divisibility, InfeasibleStrategy, Strategy
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.clusters import fields_of_cluster
from dse.prediction.steps.strategies import plan_of

if TYPE_CHECKING:
    from dse.inputs.accelerators import Cluster


def refuse_idle_settings(model: ModelSpec, system: SystemSpec, divisibility: Divisibility | None) -> None:
    """Refuse settings of traces and of the engine, which predictions do not have.

    Raises:
        InputError: names the key.
    """
    idle = [
        f"model.repairs.{key}"
        for key in REPAIRS
        if key != "recompute" and getattr(model.repairs, key) is not None
    ]
    idle += ["workload.divisibility"] if divisibility is not None else []
    idle += [f"system.{key}" for key in ("faults", "deratings", "npu_types") if getattr(system, key)]
    idle += ["system.network_model"] if system.network_model != "congestion_unaware" else []
    idle += ["system.collectives"] if system.collectives != fields_of_cluster(system)["collectives"] else []
    if idle:
        raise InputError(
            f"{', '.join(idle)} changes no prediction, and {model.name} on {system.name} is predicted "
            "(a cluster under model.fidelity=realistic): leave it out, or write model.fidelity=stage"
            + ("; predictions have system.group_algorithms" if "system.collectives" in idle else "")
        )


def refuse_predicted_settings(model: ModelSpec, system: SystemSpec) -> None:
    """Refuse what only predictions have, where an engine simulates traces.

    Raises:
        InputError: names the key.
    """
    if system.group_algorithms != DEFAULT_ALGORITHMS:
        raise InputError(
            f"system.group_algorithms changes predictions only, and {model.name} on {system.name} "
            "is simulated: leave it out, or write model.fidelity=realistic; the engine has system.collectives"
        )


def is_feasible(model: ModelSpec, strategy: Strategy, cluster: Cluster) -> bool:
    """Whether the strategy can run."""
    from dse.prediction.steps.feasibility import require_feasible

    try:
        require_feasible(model, plan_of(model, strategy), cluster)
    except InfeasibleStrategy:
        return False
    return True
