"""Section `structure`: pipelines and a model of 10^12 parameters, timed; steps against the engine."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from benchmarks.agreement import Agreement, agreement, random_steps
from benchmarks.cases import Cases
from benchmarks.measure import BenchmarkError
from benchmarks.timed_steps import timed_network, timed_structure
from dse.base.errors import InputError
from dse.inputs.accelerators import Cluster, TierSpec, accelerator, cluster
from dse.inputs.models import ModelSpec
from dse.inputs.models.blocks import MixtureOfExperts
from dse.inputs.strategies.schedules import SCHEDULES
from dse.prediction.steps.batch import forget_predictors
from dse.prediction.steps.plan import Plan, text_of_layers
from dse.prediction.steps.predict import predict
from dse.prediction.steps.schedules import StageTimes, pipeline

Row = dict[str, str | int | float | bool | None]

SMALL = ModelSpec("small", 4096, 4096, 1024, 4096, 16, 512, 32, 16, fidelity="realistic")
# The largest model of Narayanan et al. 2021, table 1, with a micro-batch a stage and 512 of them.
LARGE = ModelSpec("gpt 1T", 51200, 51200, 25600, 102400, 160, 2048, 3072, 128, fidelity="realistic")
LARGE_PLAN = Plan(dp=6, tp=8, pp=64, schedule="interleaved", chunks=2, recompute="full")


def structure(cases: Cases, repeats: int) -> Iterator[Row]:
    """CPU seconds of pipelines, with nothing kept from earlier ones and again; then the agreement."""
    stages, batches = cases.pipeline
    for name in sorted(SCHEDULES):
        for chunks in (SCHEDULES[name].chunks,) if SCHEDULES[name].chunks else (2, 4, 8):
            times = [[StageTimes(1 + s / 1000, 2.0, 1.0)] * chunks for s in range(stages)]
            yield {
                "name": f"{name}, {chunks} chunks, {stages} stages x {batches} micro-batches",
                **_timed(lambda n=name, t=times: pipeline(n, t, batches, 0.05), repeats),  # type: ignore[misc]
            }
    machine = _machine()
    yield {
        "name": f"predict {LARGE.name}, {LARGE_PLAN.pp} stages x 512 micro-batches",
        **_timed(lambda: predict(LARGE, LARGE_PLAN, machine), repeats),
    }
    steps = islice(random_steps(16), cases.agreements)
    yield _agreements("random steps", [agreement(*step) for step in steps])
    predicted = list(islice(_predicted(random.Random(16)), cases.agreements))
    row = _agreements("predicted steps", [one for one, _ in predicted])
    yield row | {"largest_difference_pct": 100 * max(difference for _, difference in predicted)}


def _machine() -> Cluster:
    tiers = (
        TierSpec("NVLink", 2.0, bandwidth_gbps=300.0),
        TierSpec("InfiniBand", 5.0, bandwidth_gbps=25.0),
    )
    return cluster("384 nodes", accelerator("a100_80"), LARGE_PLAN.npus // 8, 8, tiers)


def _timed(run: Callable[[], object], repeats: int) -> Row:
    first, again = [], []
    for _ in range(repeats):
        forget_predictors()
        for seconds in (first, again):
            began = time.process_time()
            run()
            seconds.append(time.process_time() - began)
    return {"first_s": statistics.median(first), "again_s": statistics.median(again), "repeats": repeats}


def _predicted(rng: random.Random) -> Iterator[tuple[Agreement, float]]:
    """Yield small plans whose predicted step is simulated, and how far the engine is from the prediction."""
    experts = MixtureOfExperts(count=4, top_k=2, d_ff=1024)
    while True:
        plan = _random_plan(rng)
        model = SMALL if plan.ep == 1 else replace(SMALL, experts=experts)
        tiers = (
            TierSpec("inside", 2.0, bandwidth_gbps=450.0),
            TierSpec("between", 5.0, bandwidth_gbps=50.0),
        )
        nodes, each = max(1, plan.npus // 4), min(4, plan.npus)
        try:
            machine = cluster("small", accelerator("h100_sxm"), nodes, each, tiers)
            predicted = predict(model, plan, machine)
        except InputError:
            continue
        one = agreement(timed_structure(model, plan, machine), timed_network(model, plan, machine))
        yield one, abs(one.engine_ns / (predicted.step_s * 1e9) - 1)


def _random_plan(rng: random.Random) -> Plan:
    name = rng.choice(sorted(SCHEDULES))
    tp = rng.choice([1, 2, 4])
    chunks = SCHEDULES[name].chunks or rng.choice([2, 4])
    pp = rng.choice([2, 2, 4])
    even = SMALL.num_layers // (pp * chunks)
    uneven = (even + 1, even - 1) * (pp * chunks // 2)
    sizes = [rng.choice(choices) for choices in ([1, 2, 4], [1, 1, 2], [1, 1, 2], [1, 2])]
    is_uneven, zero = even > 1 and rng.random() < 0.3, rng.choice([0, 1, 2, 3])
    return Plan(
        dp=sizes[0],
        tp=tp,
        pp=pp,
        cp=sizes[1],
        ep=sizes[2],
        micro_batch=sizes[3],
        schedule=name,
        chunks=chunks,
        stages=text_of_layers(uneven) if is_uneven else "even",
        weight_sharded=zero == 3,
        zero=1 if zero == 3 else zero,
        sequence_parallel=tp > 1 and rng.random() < 0.5,
        recompute=rng.choice(["none", "selective", "full"]),
        precision=rng.choice(["bf16", "fp8"]),
        overlap_dp=rng.random() < 0.5,
    )


def _agreements(what: str, found: list[Agreement]) -> Row:
    """Count what agrees with the engine.

    Raises:
        BenchmarkError: a step does not, though the preconditions hold.
    """
    held = [one for one in found if not one.broken]
    if any(one.closed_ns != one.engine_ns for one in held):
        raise BenchmarkError("a step and the engine differ though the preconditions of equality hold")
    return {
        "name": f"{len(found)} {what} against the engine",
        "preconditions_hold": len(held),
        "closed_equal": sum(one.closed_ns == one.engine_ns for one in found),
        "slot_equal": sum(one.slot_ns == one.engine_ns for one in found),
        "largest_difference_pct": 100 * max(abs(one.difference) for one in found),
    }
