"""Points that the predictor answers from the structure of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.base.errors import InputError
from dse.inputs.models import REPAIRS, ModelSpec
from dse.inputs.strategies import InfeasibleStrategy
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.clusters import fields_of_cluster
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.prediction import PARTS, PREDICTION_VERSION, Prediction
from dse.prediction.steps.strategies import plan_of
from dse.simulation.simulators import Recording
from dse.studies.points.methods.method import Answer, Inputs, Method, Point, Varied, require_filled

if TYPE_CHECKING:
    from dse.inputs.accelerators import Cluster

COMPUTE_PARTS = ("matrix_products", "attention", "memory_bound", "launches", "optimizer")
"""The parts of a prediction in which an NPU computes; the others are communication and waiting."""

_PRECISIONS = ("bf16", "fp8")
_OPERATIONS = 500  # of a pipeline that take as long as the rest of a prediction


class StepPrediction(Method):
    """Predicts steps on a cluster of accelerators from their structure, in batches: no trace."""

    name = "prediction"
    is_python = True
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

    def answer(self, point: Point) -> Answer:
        """See `Method.answer`."""
        return Answer(columns=metrics(point, prediction_of(point)))

    def answer_all(self, points: Sequence[Point]) -> list[Answer]:
        """See `Method.answer_all`."""
        from dse.prediction.steps.batch import Case
        from dse.prediction.steps.predict import predictions

        answers: list[Answer | None] = []
        cases = []
        for point in points:
            try:
                require_filled(point)
                cases.append(Case(*prediction_inputs(point)))
                answers.append(None)
            except InfeasibleStrategy as error:
                answers.append(Answer("infeasible", str(error)))
        found = predictions(cases)
        return [answer or _answer(point, next(found)) for point, answer in zip(points, answers, strict=True)]

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
            "which is no part of the engine in the page: write model.fidelity=stage to simulate traces, or "
            "dse sweep and dse report for predictions"
        )

    def load(self) -> None:
        """See `Method.load`."""
        from dse.prediction.steps import predict  # noqa: F401

    def cost_units(self, point: Point) -> int:
        """See `Method.cost_units`: each operation of the pipeline, besides what all points do."""
        strategy = point.strategy
        size = strategy.dp * max(strategy.micro_batch, 1)
        batches = max(1, point.scenario.model.batch_size // size)
        return _OPERATIONS + strategy.pp * strategy.chunks * batches


def _answer(point: Point, found: Prediction | str) -> Answer:
    """Return a prediction, or the reason why there is none, as an answer."""
    if isinstance(found, str):
        return Answer("infeasible", found)
    return Answer(columns=metrics(point, found))


def prediction_of(point: Point) -> Prediction:
    """Return the prediction of a point.

    Raises:
        InfeasibleStrategy: the strategy cannot run, or does not fill the system.
        InputError: a setting of the scenario has no effect on predictions.
    """
    from dse.prediction.steps.predict import predict

    require_filled(point)
    return predict(*prediction_inputs(point))


def prediction_inputs(point: Point) -> tuple[ModelSpec, Plan, Cluster]:
    """Return what `dse.prediction.steps.predict` takes.

    Raises:
        InfeasibleStrategy, InputError: as `prediction_of`.
    """
    on = point.scenario
    cluster = on.system.cluster
    assert cluster is not None
    on.check()
    return on.model, plan_of(on.model, point.strategy), cluster


def parts_ns(prediction: Prediction) -> dict[str, int]:
    """Return the parts in whole ns; they sum to `wall_time_ns` exactly.

    Each is rounded down; what is missing goes to those that lost most, 1 ns each.
    """
    exact = {name: prediction.parts_s[name] * 1e9 for name in PARTS}
    found = {name: int(ns) for name, ns in exact.items()}
    missing = wall_time_ns(prediction) - sum(found.values())
    by_loss = sorted(PARTS, key=lambda name: found[name] - exact[name])
    for place in range(abs(missing)):
        found[by_loss[place % len(PARTS)]] += 1 if missing > 0 else -1
    return found


def wall_time_ns(prediction: Prediction) -> int:
    """Return the time of a step in whole ns."""
    return round(prediction.step_s * 1e9)


def range_ns(prediction: Prediction) -> tuple[int, int] | None:
    """Return from when to when 80 % of such steps end, in whole ns; None where nothing was measured."""
    if prediction.range_s is None:
        return None
    low_s, high_s = prediction.range_s
    return round(low_s * 1e9), round(high_s * 1e9)


def metrics(point: Point, prediction: Prediction) -> dict[str, Any]:
    """Return the columns of the row of a prediction; what only an engine measures is left out.

    The time that is exposed is all in which no NPU of the decisive stage computes, bubbles included.
    """
    on = point.scenario
    wall = wall_time_ns(prediction)
    gpu = sum(ns for name, ns in parts_ns(prediction).items() if name in COMPUTE_PARTS)
    tokens = on.model.batch_size * on.model.seq_len * 1e9 / wall if wall else None
    possible = on.system.peak_tflops * 1e3 * wall * on.system.npus  # a TFLOPS is 10^3 operations per ns
    low, high = range_ns(prediction) or (None, None)
    return {
        "wall_time_ns": wall,
        "wall_time_low_ns": low,
        "wall_time_high_ns": high,
        "gpu_time_ns": gpu,
        "exposed_comm_ns": wall - gpu,
        "peak_memory_bytes": prediction.peak_memory_bytes,
        "mfu_pct": 100 * prediction.model_flops / possible if possible else None,
        "tokens_per_s": tokens,
        "tokens_per_s_per_npu": None if tokens is None else tokens / on.system.npus,
        "prediction_notes": "; ".join(prediction.notes) or None,
    }
