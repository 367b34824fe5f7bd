"""Blocks of points have the keys and the rows of their points, however many go together."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import numpy as np
import pytest
from predicted_points import predicted_scenario

from dse.base.errors import InputError
from dse.inputs.strategies import AXES, Strategy
from dse.inputs.strategies.columns import Strategies
from dse.native import _engine
from dse.studies.points import DesignPoint, Scenario, evaluate, prediction_of
from dse.studies.points.blocks import PointBlock, SpacePoints, blocks_of
from dse.studies.points.evaluate import evaluate_block
from dse.studies.points.methods.predicted_columns import COMPUTE_PARTS, parts_ns, range_ns
from dse.studies.store import POINTS
from dse.testing.builders import RING16, TINY

MOE = ("model=mixtral_8x7b", "model.num_layers=8", "model.batch_size=64", "model.fidelity=realistic")
SCENARIOS: dict[str, tuple[str, ...]] = {
    "dense": (),
    "experts": MOE,
    "micro-batches": ("model.micro_batches=4",),
    "another accelerator": ("system.accelerator=h200",),
    "hierarchical": ("system.group_algorithms={tp: hierarchical, dp: auto}",),
    "b200": ("system=dgx_b200", "system.nodes=2"),
}
CHOICES: dict[str, tuple[Any, ...]] = {
    "sp": (1, 1, 1, 1, 2),
    "zero": (0, 1, 1, 2, 7),
    "micro_batch": (0, 1, 2, 3, 8),
    "weight_sharded": (False, False, True),
    "activation_recompute": (False, False, False, True),
    "recompute": ("none", "none", "full", "light", "mlp+layernorm", "nothing"),
    "recompute_layers": (0, 0, 0, 2),
    "shard_ranks": (0, 0, 0, 2),
    "schedule": ("1f1b", "1f1b", "interleaved", "zb-v", "gpipe"),
    "chunks": (1, 1, 2),
    "stages": ("even", "even", "spread", "4-4"),
    "sequence_parallel": (False, True),
    "overlap_tp": (False, True),
    "overlap_dp": (True, True, False),
    "context": ("ring", "ring", "ulysses", "gather"),
    "precision": ("bf16", "bf16", "fp8", "mxfp8"),
    "offload": ("none", "none", "optimizer", "activations-2"),
    "order": ("tp-cp-ep-dp-pp", "tp-cp-ep-dp-pp", "pp-tp-dp-cp-ep"),
    "framework": ("megatron-core", "megatron-bridge", "deepspeed"),
    "ep": (1, 1, 2, 4),
    "expert_tp": (0, 0, 1),
    "dispatcher": ("alltoall", "alltoall", "deduplicated"),
}
DEGREES = [
    (dp, tp, pp, 16 // (dp * tp * pp))
    for dp in (1, 2, 4, 8, 16)
    for tp in (1, 2, 4, 8)
    for pp in (1, 2, 4)
    if 16 % (dp * tp * pp) == 0
]


def strategies(seed: int, count: int) -> list[Strategy]:
    """Half of them have mostly values by default, so that many can run; some do not fill the system."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        dp, tp, pp, cp = draw.choice([*DEGREES, (3, 1, 1, 1)])
        changed = draw.sample(sorted(CHOICES), draw.choice((0, 1, 2, 3, len(CHOICES))))
        values = {name: draw.choice(CHOICES[name]) for name in changed}
        found.append(Strategy(dp=dp, tp=tp, pp=pp, cp=cp, **values))
    return found


def block_of(scenario: Scenario, some: list[Strategy]) -> PointBlock:
    return PointBlock(scenario, Strategies.of(some))


def test_the_engine_hashes_as_python() -> None:
    texts = [["", "a" * 70, "ß"], [" x"], ["1", "22"]]
    chosen = np.array([[i % 3, i % 2] for i in range(6)], np.int32)
    for prefix in ("", "p" * 55, "p" * 64, "p" * 119):
        found = _engine.hashed_rows(prefix, texts, chosen, 32).reshape(6, 32)
        for row, (first, last) in zip(found, chosen, strict=True):
            text = prefix + texts[0][first] + " x" + texts[2][last]
            assert row.tobytes() == hashlib.sha256(text.encode()).digest()


def test_keys_of_a_block_are_those_of_its_points() -> None:
    draw = random.Random(3)
    some = strategies(2, 300)
    some += [Strategy(**{axis.name: draw.choice((axis.default, 5)) for axis in AXES if axis.type is int})]
    block = block_of(predicted_scenario(), some)
    keys = [DesignPoint(block.scenario, one).key for one in some]
    assert block.keys == keys
    assert [point.key for point in block] == keys
    assert [point.key for part in block.parts(7) for point in part] == keys
    assert block.hashes.tobytes() == b"".join(map(bytes.fromhex, keys))
    assert Strategies.of([point.strategy for point in block]) == some


@pytest.mark.parametrize("name", SCENARIOS)
def test_rows_of_a_block_are_those_of_its_points(name: str) -> None:
    scenario, some = predicted_scenario(*SCENARIOS[name]), strategies(11, 400)
    rows = POINTS.rows(evaluate_block(block_of(scenario, some)))
    expected = [evaluate(DesignPoint(scenario, one)) for one in some]
    assert rows == expected
    statuses = [row.status for row in rows]
    assert statuses.count("ok") >= 20
    assert len({row.reason for row in rows}) >= 15
    assert block_of(scenario, some).feasible.tolist() == [status == "ok" for status in statuses]
    apart = [row for part in block_of(scenario, some).parts(33) for row in POINTS.rows(evaluate_block(part))]
    assert apart == rows


def test_a_setting_without_effect_is_refused_where_a_point_fills_the_system() -> None:
    scenario = predicted_scenario("model.repairs.loss=false")
    with pytest.raises(InputError, match=r"model\.repairs\.loss changes no prediction"):
        evaluate_block(block_of(scenario, [Strategy(dp=3), Strategy(dp=16)]))
    (row,) = POINTS.rows(evaluate_block(block_of(scenario, [Strategy(dp=3)])))
    assert row == evaluate(DesignPoint(scenario, Strategy(dp=3)))


def test_points_are_grouped_by_their_scenarios() -> None:
    one, other = Scenario("one", TINY, RING16), Scenario("other", TINY, RING16)
    some = [Strategy(dp=16), Strategy(tp=16)]
    points = [DesignPoint(on, each) for on in (one, other, one) for each in some]
    blocks = list(blocks_of(iter(points)))
    assert [(block.scenario, len(block)) for block in blocks] == [(one, 2), (other, 2), (one, 2)]
    assert [point for block in blocks for point in block] == points
    assert list(blocks_of(SpacePoints(blocks))) == blocks
    assert list(SpacePoints(blocks)) == points


def missing(block: PointBlock, known: set[str]) -> list[str]:
    rest = block.missing(block.keys, known)
    assert known >= set(block.keys)
    return rest.keys


def test_what_is_missing_of_a_block_comes_once() -> None:
    scenario = predicted_scenario()
    block = block_of(scenario, [Strategy(dp=16), Strategy(tp=16), Strategy(dp=16), Strategy(pp=16)])
    assert missing(block, set()) == [block.keys[0], block.keys[1], block.keys[3]]
    assert missing(block, {block.keys[0]}) == [block.keys[1], block.keys[3]]
    assert missing(block, set(block.keys)) == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_rows_have_the_figures_of_their_predictions(name: str) -> None:
    block = block_of(predicted_scenario(*SCENARIOS[name]), strategies(12, 60))
    for point, row in zip(block, POINTS.rows(evaluate_block(block)), strict=True):
        if row.status != "ok":
            continue
        found = prediction_of(point)
        assert row.wall_time_ns == round(found.step_s * 1e9)
        assert row.peak_memory_bytes == found.peak_memory_bytes
        assert row.gpu_time_ns == sum(ns for part, ns in parts_ns(found).items() if part in COMPUTE_PARTS)
        assert (row.wall_time_low_ns, row.wall_time_high_ns) == (range_ns(found) or (None, None))
        assert row.prediction_notes == ("; ".join(found.notes) or None)
        possible = point.scenario.system.peak_tflops * 1e3 * row.wall_time_ns * row.npus
        assert row.mfu_pct == 100 * found.model_flops / possible
