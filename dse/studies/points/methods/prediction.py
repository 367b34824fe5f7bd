"""Points that the predictor answers from the structure of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.base.errors import InputError
from dse.base.lazy import pa
from dse.inputs.accelerators import Cluster
from dse.inputs.models import REPAIRS, ModelSpec
from dse.inputs.strategies import InfeasibleStrategy
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.clusters import fields_of_cluster
from dse.inputs.systems.fields import ABILITIES
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import PREDICTION_VERSION, Prediction
from dse.simulation.simulators import Recording
from dse.studies.points.methods.method import (
    Answer,
    Answers,
    Block,
    Inputs,
    Method,
    Point,
    Varied,
    refused_unfilled,
)

if TYPE_CHECKING:
    from dse.inputs.strategies.columns import Strategies
    from dse.prediction.steps.predicted_strategies import Predictions
    from dse.prediction.steps.strategies import Refusals

_PRECISIONS = ("bf16", "fp8")
_OPERATIONS = 500  # of a pipeline that take as long as the rest of a prediction


class StepPrediction(Method):
    """Predicts steps on a cluster of accelerators from their structure, in batches: no trace."""

    name = "prediction"
    cost_axes = ("dp", "pp", "chunks", "micro_batch")
    least_block = 2048
    most_compared = 100  # spaces of training plans have thousands

    def answers(self, on: Inputs) -> bool:
        """See `Method.answers`."""
        return on.system.cluster is not None and on.model.fidelity == "realistic" and not on.is_external

    def identity(self) -> Mapping[str, Any]:
        """See `Method.identity`."""
        return {"predictor": PREDICTION_VERSION}

    def check(self, on: Inputs) -> None:
        """See `Method.check`: settings of traces and of the engine."""
        model, system = on.model, on.system
        idle = [
            f"model.repairs.{key}"
            for key in REPAIRS
            if key != "recompute" and getattr(model.repairs, key) is not None
        ]
        idle += ["workload.divisibility"] if on.divisibility is not None else []
        idle += [f"system.{key}" for key in ("faults", "deratings", "npu_types") if getattr(system, key)]
        idle += [f"system.{key}" for key in ABILITIES if not getattr(system, key)]
        idle += ["simulator.reference"] if "reference" in on.simulator.identity() else []
        idle += ["system.network_model"] if system.network_model != "congestion_unaware" else []
        idle += (
            ["system.collectives"] if system.collectives != fields_of_cluster(system)["collectives"] else []
        )
        if idle:
            raise InputError(
                f"{', '.join(idle)} changes no prediction, and {model.name} on {system.name} is predicted "
                "(a cluster under model.fidelity=realistic): leave it out, or write model.fidelity=stage"
                + ("; predictions have system.group_algorithms" if "system.collectives" in idle else "")
            )

    def is_feasible(self, point: Point) -> bool:
        """See `Method.is_feasible`."""
        from dse.prediction.steps.predict import require_feasible

        try:
            require_feasible(*prediction_inputs(point))
        except InfeasibleStrategy:
            return False
        return True

    def in_blocks(self, on: Inputs) -> bool:
        """See `Method.in_blocks`: always."""
        del on
        return True

    def answer(self, point: Point) -> Answer:
        """See `Method.answer`."""
        from dse.inputs.strategies.columns import Strategies

        refused, columns = _answered(point.scenario, Strategies.of([point.strategy]))
        if refused.reasons:
            raise InfeasibleStrategy(refused.reasons[0])
        return Answer(columns={name: column[0].as_py() for name, column in columns.items()})

    def answer_all(self, block: Block) -> Answers:
        """See `Method.answer_all`."""
        refused, columns = _answered(block.scenario, block.strategies)
        return Answers(refused.reason_of, refused.reasons, columns)

    def feasible(self, block: Block) -> Sequence[bool]:
        """See `Method.feasible`."""
        from dse.prediction.steps.predicted_strategies import refuse_infeasible

        refused, cluster = refused_unfilled(block.scenario, block.strategies), block.scenario.system.cluster
        assert cluster is not None
        refuse_infeasible(block.scenario.model, block.strategies, cluster, refused)
        return (refused.reason_of < 0).tolist()  # type: ignore[no-any-return]

    def record(self, point: Point, *, decisive_only: bool) -> Recording:
        """See `Method.record`."""
        del decisive_only
        raise InputError(
            f"{point.strategy.label()} on {point.scenario.system.name} is predicted from the structure of "
            "the step, so no engine records what happens when: model.fidelity=stage simulates traces"
        )

    def varied(self, system: SystemSpec) -> list[Varied]:
        """See `Method.varied`: the figures of the accelerator and of the tiers of the cluster."""
        assert system.accelerator is not None
        found = [
            Varied(f"accelerator.peak_tflops.{name}", f"compute in {name}", computes=True)
            for name in _PRECISIONS
            if name in system.accelerator.peak_tflops
        ]
        found.append(Varied("accelerator.memory_bandwidth_gbps", "memory bandwidth", computes=True))
        for index, tier in enumerate(system.tiers):
            rate = "nic_gbit_per_s" if tier.bandwidth_gbps is None else "bandwidth_gbps"
            if getattr(tier, rate) is not None:
                found.append(Varied(f"tiers.{index}.{rate}", f"bandwidth of {tier.name}"))
        latencies = [
            Varied(f"tiers.{index}.latency_us", f"latency of {tier.name}")
            for index, tier in enumerate(system.tiers)
        ]
        return found + latencies

    def why_not_in_a_page(self, on: Inputs) -> str:
        """See `Method.why_not_in_a_page`."""
        return (
            f"{on.model.name} on {on.system.name} is predicted from the structure of a step, "
            "which a page does for dse explore, not for rows of a study: write model.fidelity=stage to "
            "simulate traces, or dse explore"
        )

    def load(self) -> None:
        """See `Method.load`."""
        from dse.prediction.steps import predicted_strategies  # noqa: F401

    def cost_units(self, point: Point) -> int:
        """See `Method.cost_units`: each operation of the pipeline, besides what all do, as a power of 2."""
        strategy = point.strategy
        size = strategy.dp * max(strategy.micro_batch, 1)
        batches = max(1, point.scenario.model.batch_size // size)
        return 1 << (_OPERATIONS + strategy.pp * strategy.chunks * batches).bit_length()


def _answered(on: Inputs, strategies: Strategies) -> tuple[Refusals, Mapping[str, pa.Array]]:
    """Return why strategies cannot run, and the columns of those that can."""
    from dse.studies.points.methods.predicted_columns import columns_of

    refused, found = _predicted(on, strategies)
    return refused, columns_of(on, found, strategies)


def _predicted(on: Inputs, strategies: Strategies) -> tuple[Refusals, Predictions]:
    from dse.prediction.steps.predicted_strategies import predict_strategies

    refused, cluster = refused_unfilled(on, strategies), on.system.cluster
    assert cluster is not None
    if (refused.reason_of < 0).any():
        on.check()
    return refused, predict_strategies(on.model, strategies, cluster, refused)


def prediction_of(point: Point) -> Prediction:
    """Return the prediction of a point.

    Raises:
        InfeasibleStrategy: the strategy cannot run, or does not fill the system.
        InputError: a setting of the scenario has no effect on predictions.
    """
    from dse.inputs.strategies.columns import Strategies
    from dse.prediction.steps.batch import Case
    from dse.prediction.steps.predict import prediction

    refused, found = _predicted(point.scenario, Strategies.of([point.strategy]))
    if refused.reasons:
        raise InfeasibleStrategy(refused.reasons[0])
    return prediction(Case(*prediction_inputs(point)), found.figures(0))


def prediction_inputs(point: Point) -> tuple[ModelSpec, Plan, Cluster]:
    """Return what `dse.prediction.steps.predict` takes.

    Raises:
        InfeasibleStrategy, InputError: as `prediction_of`.
    """
    from dse.prediction.steps.strategies import plan_of

    on = point.scenario
    cluster = on.system.cluster
    assert cluster is not None
    on.check()
    return on.model, plan_of(on.model, point.strategy), cluster
