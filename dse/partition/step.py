"""The step of a partitioned model: simulated with every message on its link, or predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dse.base.errors import InputError
from dse.base.settings.values import Values
from dse.base.units import duration_range, format_duration_ns
from dse.partition.graphs.layers import Layers
from dse.partition.problem.replicas import averaging_ns, micro_batches_of, share_of
from dse.partition.problem.settings import Asked
from dse.prediction.steps.details import StageOperation
from dse.simulation.simulators import Recording


@dataclass(frozen=True)
class PipelineStep:
    """A step as plain data, with `step_ns`, empty where none is known; and what ran when.

    A simulated step has a `recording`, a predicted one `operations`.
    """

    data: dict[str, Any] = field(default_factory=dict)
    recording: Recording | None = None
    operations: Sequence[StageOperation] = ()

    def text(self) -> str:
        """Return it as a sentence."""
        step, made = self.data, " by the engine"
        if "range_s" in step:
            ends = [1e9 * end for end in step["range_s"] or ()]
            made = f"{f' (80 %: {duration_range(*ends)})' if ends else ''}, predicted (fidelity=realistic)"
        return (
            f"a step with {step['schedule']} and {step['micro_batches']} micro-batches takes "
            f"{format_duration_ns(step['step_ns'])}{made}; (m - 1) max + sum, without messages, is "
            f"{format_duration_ns(step['closed_form_ns'])}; backward takes {step['backward']:.3g} times "
            "forward"
        )


def step_of(asked: Asked, labels: Sequence[int], values: Values, *, is_shown: bool) -> PipelineStep:
    """Return the step of a partition where one is asked for, or is to be shown and can be.

    Raises:
        InputError: a step is asked for, but weights are no times; or no pipeline can run it.
    """
    if asked.layers is not None:
        return _predicted(asked.layers, labels)
    wanted = step_keys(values)
    is_pipeline = asked.problem.objective == "pipeline_bottleneck"
    if wanted and not asked.is_time and asked.source.weights is None:
        raise InputError(
            f"{wanted[0]}={values[wanted[0]]} has no effect: weights are no times; write weight=time"
        )
    if not wanted and not (is_pipeline and is_shown and len(set(labels)) > 1):
        return PipelineStep()
    return simulated_step(asked, labels, values)


def step_keys(values: Values) -> list[str]:
    """Return the keys that ask for a step."""
    return [key for key in ("schedule", "microbatches", "replicas") if key in values]


def simulated_step(asked: Asked, labels: Sequence[int], values: Values) -> PipelineStep:
    """Run a step of one pipeline on the engine; then all replicas of its stages average their gradients.

    Raises:
        InputError: as `dse.partition.graphs.steps.simulate_step`.
    """
    from dse.partition.graphs.steps import closed_form_ns, simulate_step, stage_graph

    problem, schedule, layout = asked.problem, values.get("schedule", "1f1b"), asked.layout
    micro_batches = micro_batches_of(values) // layout.pipelines
    own = share_of(asked.everything or problem.devices, layout.pipelines)
    stages = stage_graph(problem.graph, labels, own.speeds, asked.source.backward)
    if asked.everything is not None:
        one = replace(layout, pipelines=1)
        homes = tuple(tuple(one.devices_of(device)) for device in stages.device_of)
        stages = replace(stages, after_ns=_averaging_ns(asked, labels, stages.device_of), homes=homes)
    recording = simulate_step(stages, schedule, micro_batches, asked.system or own)
    homes = stages.homes or tuple((device,) for device in stages.device_of)
    devices = range(layout.width) if asked.system else [device for home in homes for device in home]
    ends = [metrics.finish_ns for metrics in recording.outcome.classes if metrics is not None]
    data = {
        "schedule": schedule,
        "micro_batches": micro_batches,
        "step_ns": max(ends),
        "closed_form_ns": closed_form_ns(stages, micro_batches),
        "backward": stages.backward,
        "bars": sorted([layout.places[devices[rank]][1], bars] for rank, bars in _bars_of(recording)),
    }
    return PipelineStep(data, recording)


def _averaging_ns(asked: Asked, labels: Sequence[int], order: Sequence[int]) -> tuple[float, ...]:
    held = dict.fromkeys(order, 0.0)
    for operator, label in zip(asked.source.operators, labels, strict=True):
        held[label] += operator.parameter_bytes
    assert asked.everything is not None
    layout = asked.layout
    return tuple(averaging_ns(asked.everything, layout.devices_of(one), held[one]) for one in order)


def _predicted(layers: Layers, labels: Sequence[int]) -> PipelineStep:
    operations = layers.operations(labels)
    bars: list[list[Any]] = [[stage, []] for stage in range(layers.plan.pp)]
    for one in operations:
        name = one.kind if one.micro_batch is None else f"{one.kind} {one.micro_batch}"
        bars[one.stage][1].append([round(1e9 * one.start_s), round(1e9 * one.end_s), name])
    return PipelineStep({**layers.step(labels), "bars": bars}, operations=operations)


def _bars_of(recording: Recording) -> list[list[Any]]:
    """Return computation by rank: [rank, [[start ns, end ns, name], …]], without ranks that only wait."""
    found = []
    for entry in recording.ranks:
        bars = [[n.start_ns, n.end_ns, n.name] for n in entry.nodes if n.kind == "compute"]
        if len(bars) > 1:
            found += [[rank, bars] for rank in entry.members]
    return sorted(found)
