"""The traces of a predicted point: its step on every rank, for the engine and for other simulators."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dse.base.errors import InputError, SimulationError
from dse.inputs.systems import SystemSpec
from dse.studies.points.methods.method import Point
from dse.studies.points.methods.prediction import prediction_inputs

if TYPE_CHECKING:
    from dse.simulation.workloads import Workload

MOST_NODES = 10_000_000
"""Nodes of all traces together, some 200 bytes each."""


class PredictedTraces(NamedTuple):
    """A predicted step as traces, the network of the cluster for them, and what our engine says they take."""

    workload: Workload
    system: SystemSpec
    simulated_ns: int


def predicted_traces(point: Point) -> PredictedTraces:
    """Return the step of a predicted point node by node, on all ranks.

    Collectives of tensor parallelism and of gradients, and messages between stages, are nodes with their
    bytes, to which a simulator gives the time of its network. The rest is computing, as long as predicted
    (`dse.prediction.steps.structured.exchanged_structure`).

    Raises:
        InfeasibleStrategy: as `prediction_of`.
        InputError: traces cannot place the plan, or would be more than `MOST_NODES`.
        SimulationError: the engine cannot run the traces.
    """
    from dse.prediction.steps.programs import programs
    from dse.prediction.steps.structured import exchange_network, exchanged_structure
    from dse.prediction.steps.traces import trace_workload, traced_system
    from dse.simulation.simulators import NativeSimulator

    model, plan, cluster = prediction_inputs(point)
    structure = exchanged_structure(model, plan, cluster)
    nodes = sum(map(len, programs(structure))) * (plan.npus // plan.pp)
    if nodes > MOST_NODES:
        raise InputError(
            f"export: the traces of {plan.npus} ranks have {nodes} nodes, and at most {MOST_NODES} are "
            "written; choose fewer system.nodes, model.num_layers or micro-batches"
        )
    system = traced_system(exchange_network(plan, cluster))
    workload = trace_workload(structure)
    outcome = NativeSimulator().simulate(workload, system)
    ends = [metrics.finish_ns for metrics in outcome.classes if metrics is not None]
    if outcome.status != "ok":
        raise SimulationError(f"export: the engine cannot run the traces: {outcome.reason}")
    return PredictedTraces(workload, system, max(ends))
