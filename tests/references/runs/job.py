"""The plain evaluation of a training run: the oracle of the engine's `prediction/runs`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import NamedTuple

from dse.inputs.accelerators import Cluster
from dse.inputs.models.counts import parameters
from dse.prediction.runs.checkpoints import Store
from dse.prediction.runs.reliability import Rate, Reliability, parse_rate
from dse.prediction.runs.run import Question
from dse.prediction.steps.frameworks import framework_named
from dse.prediction.steps.predict import Prediction
from tests.references.runs.renewal import Checkpoints, Expected, best_interval_s, expected
from tests.references.runs.repairs import FailureClass, Spares

_PHASES = {"computing": (0.9, 1.0, 1.05), "communicating": (0.2, 0.5, 0.75), "idle": (0.1, 0.2, 0.3)}
_PHASE_OF_PART = {
    "compute": "computing",
    "lost work": "computing",
    "exposed communication": "communicating",
    "pipeline bubble": "communicating",
}
_COMPUTE = ("matrix_products", "attention", "memory_bound", "launches", "optimizer")


class NearCopy(NamedTuple):
    """A copy near the nodes: read in `load_s`, and left by failures of at most `survives_nodes` nodes."""

    load_s: float
    survives_nodes: int


def checkpoint_bytes(question: Question) -> int:
    """The weights in 16 bit, and the optimizer's states of all that is trained."""
    counts, plan = parameters(question.model), question.plan
    states = plan.optimizer_bytes or framework_named(plan.framework).memory.optimizer_bytes
    return 2 * (counts.total + counts.prediction + counts.adapters) + states * counts.trained


def checkpoint_times(
    size_bytes: int, cluster: Cluster, store: Store
) -> tuple[Checkpoints, float, NearCopy | None]:
    """Every NPU copies an equal share to its host, every node sends its share to its peer."""
    nodes = -(-cluster.npus // cluster.npus_per_node)
    moved_s = size_bytes / (min(store.total_gbps, nodes * store.node_gbps) * 1e9)
    copied_s = size_bytes / cluster.npus / (cluster.accelerator.host_bandwidth_gbps * 1e9)
    if store.place == "storage":
        found = Checkpoints(moved_s) if store.kind == "sync" else Checkpoints(copied_s, moved_s)
        return found, moved_s, None
    near_gbps = store.near_gbps
    if store.place == "peer":
        near_gbps = near_gbps or cluster.tiers[-1].bandwidth_gbps * cluster.npus_per_node
    near_s = 0.0 if near_gbps is None else size_bytes / nodes / (near_gbps * 1e9)
    blocking_s, writing_s = (copied_s + near_s, 0.0) if store.kind == "sync" else (copied_s, near_s)
    near = NearCopy(near_s or copied_s, 1 if store.place == "peer" else 0)
    return Checkpoints(blocking_s, writing_s, moved_s, store.every), moved_s, near


def _units(of: Reliability, rate: Rate, cluster: Cluster) -> tuple[int, int]:
    """How many of the rate's unit a cluster has, and the nodes that each takes with it."""
    npus, nodes = cluster.npus, -(-cluster.npus // cluster.npus_per_node)
    nics = npus // cluster.nics.npus_each if cluster.nics is not None else npus
    known = {"npu": npus, "node": nodes, "nic": nics, "job": 1}
    if rate.unit in known:
        return known[rate.unit], 1
    size = of.domains.get(rate.unit, cluster.npus_per_node)
    return -(-npus // size), min(size if rate.unit == "rail" else -(-size // cluster.npus_per_node), nodes)


def classes_of(
    of: Reliability, cluster: Cluster, load_s: float, factor: float, near: NearCopy | None
) -> tuple[FailureClass, ...]:
    """The failures of a job on all of a cluster."""
    found = []
    for name, one in of.components.items():
        rate = parse_rate(one.rate, name)
        restart_s = of.recovery_s(one)
        units, nodes = _units(of, rate, cluster)
        lost = nodes if one.takes_node else 0
        near_s = restart_s + near.load_s if near is not None and lost <= near.survives_nodes else None
        found.append(FailureClass(name, factor * rate.per_second * units, restart_s + load_s, lost, near_s))
    return tuple(found)


def bounds_of(of: Reliability, cluster: Cluster) -> tuple[float, float]:
    """Counted rates of equal exposure are one Poisson count; rates without counts have no interval."""
    rates = [parse_rate(one.rate, name) for name, one in of.components.items()]
    weights = [rate.per_second * _units(of, rate, cluster)[0] for rate in rates]
    known = [(rate, weight) for rate, weight in zip(rates, weights, strict=True) if rate.is_counted]
    if not known or sum(weights) <= 0:
        return 1.0, 1.0
    low, high = Rate(sum(rate.events for rate, _ in known), 1.0, "job", is_counted=True).bounds
    share = sum(weight for _, weight in known) / sum(weights)
    return 1 + share * (low - 1), 1 + share * (high - 1)


def replica_speeds(dp: int, cluster: Cluster) -> tuple[float, ...]:
    """The share of replicas that 1, 2, … lost nodes leave, as long as one is left."""
    npus, node = cluster.npus, cluster.npus_per_node
    left = ((npus - lost * node) * dp // npus for lost in range(1, -(-npus // node)))
    return tuple(count / dp for count in takewhile(lambda count: count > 0, left))


@dataclass(frozen=True)
class PlainRun:
    """The figures of a run; `energy_mwh` are its expected, low and high ones."""

    interval_s: float
    time_s: tuple[float, float, float]
    parts_s: dict[str, float]
    choices_s: dict[str, float]
    effective_ratio: float
    failures: float
    goodput: float
    energy_mwh: tuple[float, float, float]


def plain_run(q: Question, prediction: Prediction) -> PlainRun:
    """Return the run of a predicted step that has an interval and makes progress."""
    size = checkpoint_bytes(q)
    checkpoints, load_s, near = checkpoint_times(size, q.cluster, q.store)
    factors = (1.0, *bounds_of(q.reliability, q.cluster))
    classes, *ends = (classes_of(q.reliability, q.cluster, load_s, factor, near) for factor in factors)
    choices = _choices(q)
    interval_s = q.interval_s
    if interval_s is None:
        interval_s = _interval_s(checkpoints, classes, near, prediction.step_s)
    found = {name: expected(interval_s, checkpoints, classes, each) for name, each in choices.items()}
    name = min(found, key=lambda one: found[one].total) if q.elastic == "best" else q.elastic

    def total_s(step_s: float, of: Expected) -> float:
        return q.steps * step_s * of.total * (1 + (q.stops.share if q.stops else 0.0))

    assert prediction.range_s is not None
    low_s, high_s = (
        total_s(step_s, expected(interval_s, checkpoints, some, choices[name]))
        for step_s, some in zip(prediction.range_s, ends, strict=True)
    )
    time_s = (total_s(prediction.step_s, found[name]), low_s, high_s)
    parts_s = _parts_s(prediction, q.steps, found[name], time_s[0])
    peak = q.cluster.accelerator.peak_tflops
    possible = time_s[0] * peak.get("bf16", peak.get("fp16", 0.0)) * q.cluster.npus * 1e12
    work_s = q.steps * prediction.step_s
    return PlainRun(
        interval_s,
        time_s,
        parts_s,
        {each: total_s(prediction.step_s, one) for each, one in found.items()},
        work_s / time_s[0],
        found[name].failures * work_s,
        prediction.model_flops * q.steps / possible,
        _energy_mwh(q, parts_s, time_s),
    )


def _choices(q: Question) -> dict[str, Spares | None]:
    if q.spares is None:
        return {"wait": None}
    nodes = q.spares + math.ceil(q.spares_share * q.cluster.npus / q.cluster.npus_per_node)
    waiting = Spares(nodes, q.reliability.repair_s)
    speeds = replica_speeds(q.plan.dp, q.cluster) if q.speeds is None else q.speeds
    if q.elastic == "wait" or not speeds:
        return {"wait": waiting}
    stop_s = q.reliability.restart_s if q.reconfigure_s is None else q.reconfigure_s
    return {"wait": waiting, "shrink": replace(waiting, speeds=speeds, reconfigure_s=stop_s)}


def _interval_s(
    checkpoints: Checkpoints, classes: Sequence[FailureClass], near: NearCopy | None, step_s: float
) -> float:
    """The best interval in whole steps."""
    best = best_interval_s(checkpoints, classes, least_s=max(1.0, checkpoints.writing_s)) / step_s
    least = math.ceil(max(step_s, checkpoints.writing_s) / step_s)
    if near is None:
        return max(round(best), least) * step_s
    both = [max(count, least) * step_s for count in (math.floor(best), math.ceil(best))]
    return min(both, key=lambda one: expected(one, checkpoints, classes).total)


def _parts_s(prediction: Prediction, steps: int, found: Expected, total_s: float) -> dict[str, float]:
    compute = sum(prediction.parts_s[name] for name in _COMPUTE)
    bubble = prediction.parts_s["pp_bubble"]
    work_s = steps * prediction.step_s
    return {
        "compute": steps * compute,
        "pipeline bubble": steps * bubble,
        "exposed communication": steps * (prediction.step_s - compute - bubble),
        "checkpoints": work_s * found.checkpoints,
        "lost work": work_s * found.lost,
        "detection and restart": work_s * found.recovery,
        "waiting for spares": work_s * found.waiting,
        "fewer replicas": work_s * found.shrunk,
        "planned stops": max(0.0, total_s - work_s * found.total),
    }


def _energy_mwh(
    q: Question, parts_s: dict[str, float], time_s: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Power by phase, hosts and the facility; bounds have time and power at the same end."""
    limit_w, of = q.cluster.accelerator.board_power_w, q.facility
    assert limit_w is not None

    def at(place: int, end_s: float) -> float:
        shares = [
            1.0 if of.at_limit else _PHASES[_PHASE_OF_PART.get(name, "idle")][place] for name in parts_s
        ]
        boards_s = sum(share * seconds for share, seconds in zip(shares, parts_s.values(), strict=True))
        joules = (boards_s * limit_w + of.host_w * time_s[0]) * end_s / time_s[0]
        return joules * of.pue * q.cluster.npus / 3.6e9

    return at(1, time_s[0]), at(0, time_s[1]), at(2, time_s[2])
