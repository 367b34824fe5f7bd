"""How layers are shared out to pipeline stages, by rules, by lists and by time; what stages recompute."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.inputs.accelerators.systems import cluster_of_conf
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import InfeasibleStrategy
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import predict
from tests.references.prediction.balance import balanced, balanced_counts
from tests.references.prediction.layout import stage_layers, stages

MODEL = ModelSpec("small", 128000, 128000, 2048, 8192, 16, 1024, 64, 16, fidelity="realistic")
NODE = cluster_of_conf("dgx_h100", 1)


@pytest.mark.parametrize(
    ("layers", "rule", "expected"),
    [
        (32, "even", (8, 8, 8, 8)),
        (31, "even", (8, 8, 8, 7)),
        (30, "even", (7, 8, 8, 7)),
        (33, "spread", (8, 9, 8, 8)),
        (34, "spread", (8, 9, 9, 8)),
        (32, "lighter-last", (8, 9, 8, 7)),
        (31, "lighter-last", (8, 8, 8, 7)),
        (30, "lighter-ends", (7, 8, 8, 7)),
        (32, "lighter-ends", (7, 9, 9, 7)),
    ],
)
def test_rules_share_layers_out_to_four_stages(layers: int, rule: str, expected: tuple[int, ...]) -> None:
    assert stage_layers(layers, Plan(pp=4, stages=rule)) == expected


@pytest.mark.parametrize(
    ("layers", "plan", "reason"),
    [
        (33, Plan(pp=4), "must divide the 33 layers (or 34 or 35, with the head"),
        (3, Plan(pp=4, stages="spread"), "it must be at most the 3 layers"),
        (3, Plan(pp=5, stages="lighter-last"), "it must be at most the 3 layers and 1 for the ends"),
    ],
)
def test_layers_that_do_not_go_up_are_refused(layers: int, plan: Plan, reason: str) -> None:
    with pytest.raises(InfeasibleStrategy) as caught:
        stage_layers(layers, plan)
    assert reason in str(caught.value)


def test_a_list_says_the_layers_of_each_chunk_in_the_order_of_the_model() -> None:
    plan = Plan(pp=2, schedule="interleaved", chunks=2, stages="5-4x2-3")
    assert [[chunk.count for chunk in stage] for stage in stages(MODEL, plan)] == [[5, 4], [4, 3]]
    with pytest.raises(InfeasibleStrategy, match=r"\[5, 4, 4\]; it must have 4 counts that sum to 16"):
        stages(MODEL, replace(plan, stages="5-4-4"))


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (Plan(dp=8, stages="spread"), "stages=spread has no effect with pp 1"),
        (Plan(dp=4, pp=2, stages="odd"), "stages is odd; allowed are even, spread, lighter-last"),
    ],
)
def test_rules_that_say_nothing_are_refused(plan: Plan, reason: str) -> None:
    with pytest.raises(InfeasibleStrategy, match=reason):
        predict(MODEL, plan, NODE)


def test_recomputed_layers_are_those_of_a_stage_whatever_its_chunks() -> None:
    """3 of the 8 layers of each stage, in chunks of 4: 2 and 1."""
    plan = Plan(pp=2, recompute="full", recompute_layers=3)
    chunked = replace(plan, schedule="interleaved", chunks=2)
    assert [[chunk.repeated for chunk in stage] for stage in stages(MODEL, plan)] == [[3], [3]]
    assert [[chunk.repeated for chunk in stage] for stage in stages(MODEL, chunked)] == [[2, 1], [2, 1]]
    short = replace(plan, stages="14-2")
    assert [[chunk.repeated for chunk in stage] for stage in stages(MODEL, short)] == [[3], [2]]
    whole = replace(chunked, recompute_layers=0)
    assert [[chunk.repeated for chunk in stage] for stage in stages(MODEL, whole)] == [[4, 4], [4, 4]]


def test_balanced_stages_are_as_fast_as_the_slowest_can_be_made() -> None:
    """A head as long as several layers: the last stage has fewest, and the step is faster than when even."""
    even = Plan(dp=2, pp=4, micro_batch=1)
    by_time = balanced(MODEL, replace(even, stages="balanced"), NODE)
    assert by_time.layers_per_stage[-1] < 4
    assert sum(by_time.layers_per_stage) == 16
    found = predict(MODEL, replace(even, stages="balanced"), NODE)
    assert found == predict(MODEL, by_time, NODE)
    assert found.step_s < predict(MODEL, even, NODE).step_s
    for rule in ("lighter-last", "lighter-ends"):
        assert found.step_s <= predict(MODEL, replace(even, stages=rule), NODE).step_s


def _slowest(layers: list[int], counts: tuple[int, ...], first: int, last: int) -> int:
    ends = [sum(counts[: index + 1]) for index in range(len(counts))]
    sums = [sum(layers[end - count : end]) for end, count in zip(ends, counts, strict=True)]
    sums[0] += first
    sums[-1] += last
    return max(sums)


def _all_counts(layers: int, parts: int) -> list[tuple[int, ...]]:
    if parts == 1:
        return [(layers,)]
    return [
        (count, *rest)
        for count in range(1, layers - parts + 2)
        for rest in _all_counts(layers - count, parts - 1)
    ]


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=7),
    st.integers(1, 4),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_no_other_way_to_cut_has_a_faster_slowest_part(
    layers: list[int], parts: int, first: int, last: int
) -> None:
    """Of all ways, by enumeration."""
    if len(layers) < parts:
        return
    counts = balanced_counts([float(one) for one in layers], parts, first=first, last=last)
    assert (len(counts), sum(counts)) == (parts, len(layers))
    assert min(counts) >= 1
    least = min(_slowest(layers, other, first, last) for other in _all_counts(len(layers), parts))
    assert _slowest(layers, counts, first, last) == least
