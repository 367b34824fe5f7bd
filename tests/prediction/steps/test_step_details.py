"""The pieces of a step that the engine hands out are those of the plain evaluation in Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from dse.inputs.strategies import InfeasibleStrategy
from dse.inputs.strategies.schedules import schedule_named
from dse.prediction.steps.batch import Case
from dse.prediction.steps.details import (
    collectives_used,
    layer_costs,
    listed_stages,
    stage_operations,
    step_details,
)
from dse.prediction.steps.plan import text_of_layers
from dse.prediction.steps.predict import predict
from tests.prediction.steps.random_plans import random_cases
from tests.references.prediction import collectives_used as reference
from tests.references.prediction.activations import kept_bytes
from tests.references.prediction.balance import balanced
from tests.references.prediction.checks import check
from tests.references.prediction.layout import Chunk, layers_in_order
from tests.references.prediction.recurrence import Recurrence
from tests.references.prediction.stepwise import Stepwise

_SHARE = 1e-12


def feasible(seed: int, count: int = 1_500) -> Iterator[tuple[Case, Stepwise]]:
    """Yield those of some random plans that can run, with their plain evaluation."""
    for case in random_cases(seed, count):
        try:
            check(*case)
            step = Stepwise(case.model, balanced(*case), case.cluster)
            step.stages  # noqa: B018
        except InfeasibleStrategy:
            continue
        yield case, step


def test_passes_and_parameters_are_those_of_the_plain_evaluation() -> None:
    stages = 0
    for case, step in feasible(21):
        found = step_details(*case)
        assert (found.micro_batches, len(found.passes)) == (step.micro_batches, case.plan.pp)
        for number, (passes, plain) in enumerate(zip(found.passes, step.passes, strict=True)):
            stages += 1
            for own, other in zip(passes, plain, strict=True):
                scale = _SHARE * other.both.total_s
                for part, seconds in own.forward.items():
                    assert seconds == pytest.approx(other.forward.get(part, 0.0), abs=scale), (case, part)
                for part, seconds in own.backward.items():
                    assert seconds == pytest.approx(other.backward.get(part, 0.0), abs=scale), (case, part)
                assert own.weight_s == pytest.approx(other.weight_s, abs=scale)
            for trained, weights, chunk in zip(
                found.trained[number], step._stage_weights[number], step.stages[number], strict=True
            ):
                own_weights = weights.trained
                assert trained == pytest.approx((own_weights.dense, own_weights.experts), rel=_SHARE)
                blocks = sum(count * step.local.tensor_blocks(kind) for kind, count in chunk.layers)
                assert passes[0].tensor_blocks == blocks or len(passes) > 1
        parts = step.prediction().parts_s
        assert found.optimizer_s == pytest.approx(parts["optimizer"], rel=_SHARE)
        assert found.send_s == pytest.approx(step._send_s(), rel=_SHARE)
    assert stages > 300


def test_layers_that_balance_stages_are_those_of_the_plain_evaluation() -> None:
    listed = 0
    for case, step in feasible(22):
        found = listed_stages(*case)
        assert found == step.plan.layers_per_stage
        listed += bool(found)
    assert listed > 5


def test_collectives_are_those_of_the_plain_evaluation() -> None:
    count = 0
    for case, _ in feasible(23):
        found, plain = collectives_used(*case), reference.collectives_used(*case)
        assert [(one.axis, one.ranks, one.collective, one.algorithm) for one in found] == [
            (one.axis, one.ranks, one.collective, one.algorithm) for one in plain
        ]
        for one, other in zip(found, plain, strict=True):
            expected = (other.size_bytes, other.seconds)
            assert (one.size_bytes, one.seconds) == pytest.approx(expected, rel=_SHARE)
        count += len(found)
    assert count > 200


def test_layers_cost_what_the_plain_evaluation_says() -> None:
    kinds = 0
    for case, step in feasible(24, 600):
        found = layer_costs(*case)
        assert found.memory_bytes_per_s == step.timer.rates.memory
        for kind in dict.fromkeys(layers_in_order(case.model)):
            kinds += 1
            seconds, kept = found.of_kind[kind]
            assert seconds == pytest.approx(
                step.timer.chunk(Chunk(((kind, 1),), False, False)).both.total_s, rel=_SHARE
            )
            assert kept == pytest.approx(kept_bytes(step.local, kind, is_recomputed=False), rel=_SHARE)
        for chunk, end_s in (
            (Chunk((), True, False), found.embedding_s),
            (Chunk((), False, True), found.head_s),
        ):
            assert end_s == pytest.approx(step.timer.chunk(chunk).both.total_s, rel=_SHARE)
    assert kinds > 50


def test_operations_are_those_of_the_recursion_and_end_with_the_step() -> None:
    compared = 0
    for case, step in feasible(25, 600):
        times = step.stage_times()
        if sum(map(len, times)) * step.micro_batches > 4_000:
            continue
        recurrence = Recurrence(
            schedule_named(case.plan.schedule), times, step.micro_batches, [step._send_s()] * case.plan.pp
        )
        end_s = recurrence.run().makespan_s
        found = stage_operations(*case)
        passes = [each for each in found if each.micro_batch is not None]
        assert len(passes) == sum(map(len, recurrence.spans))
        for each in passes:
            spans = recurrence.spans[each.stage]
            ((start, end),) = [
                span
                for operation, span in spans.items()
                if operation == (each.kind, each.chunk, each.micro_batch)
            ]
            assert (each.start_s, each.end_s) == pytest.approx((start, end), abs=_SHARE * end_s)
        assert max(each.end_s for each in found) == pytest.approx(predict(*case).step_s, rel=1e-9)
        compared += 1
    assert compared > 10


def test_a_plan_that_cannot_run_has_no_pieces() -> None:
    case = next(case for case, _ in feasible(26))
    too_many = replace(case.plan, dp=2 * case.plan.dp)
    none_left = replace(case.plan, stages=text_of_layers([0] * (case.plan.pp * case.plan.chunks)))
    for plan in (too_many, none_left):
        for ask in (step_details, stage_operations, collectives_used, listed_stages, layer_costs):
            with pytest.raises(InfeasibleStrategy):
                ask(case.model, plan, case.cluster)
