"""Model FLOPs utilisation: against the literature's formula, and against the utilisation of compute."""

from __future__ import annotations

import dataclasses

import pytest

from dse.inputs.strategies import Strategy
from dse.simulation.workloads import StageGenerator
from dse.studies.config import compose_config
from dse.studies.points import (
    DesignPoint,
    evaluate,
    model_operations,
    model_utilization,
    point_of,
    scenario_of,
)


def point(*overrides: str, **degrees: int | bool) -> DesignPoint:
    return point_of(compose_config(["system=system1", "model=llama70b", *overrides]), Strategy(**degrees))


def percent(chosen: DesignPoint, wall_time_ns: int) -> float:
    found = model_utilization(chosen, wall_time_ns, is_fractional=False).percent
    assert found is not None
    return found


def test_under_realistic_it_is_6_n_d_and_the_scores_over_the_peak_of_all_npus() -> None:
    chosen = point("model.fidelity=realistic", dp=64)
    model, system = chosen.scenario.model, chosen.scenario.system
    tokens = model.seq_len * model.batch_size
    multiplied = model.parameters - model.input_dim * model.d_model
    flops = (6 * multiplied + 12 * model.num_layers * model.d_model * model.seq_len) * tokens
    expected = 100 * flops / (8.5 * 64 * system.peak_tflops * 1e12)
    assert percent(chosen, 8_500_000_000) == pytest.approx(expected, rel=0.001)
    found = model_utilization(chosen, 8_500_000_000, is_fractional=False)
    assert found.note.startswith("a multiply-add is two FLOPs")


@pytest.mark.parametrize("fidelity", ["stage", "realistic"])
def test_where_a_strategy_adds_no_work_it_is_the_utilisation_of_compute_over_the_step(fidelity: str) -> None:
    """The engine's own mean utilisation over compute time, which knows nothing of the model."""
    for degrees in ({"dp": 64}, {"dp": 32, "sp": 2}, {"dp": 8, "tp": 8}):
        chosen = point(f"model.fidelity={fidelity}", "model.num_layers=4", **degrees)
        row = evaluate(chosen)
        assert row.wall_time_ns is not None
        assert row.gpu_time_ns is not None
        assert row.compute_utilization_pct is not None
        compute = row.compute_utilization_pct * row.gpu_time_ns / row.wall_time_ns
        assert percent(chosen, row.wall_time_ns) == pytest.approx(compute, rel=0.002)


def test_recompute_is_no_work_of_the_model() -> None:
    plain, again = (point(dp=64, activation_recompute=recompute) for recompute in (False, True))
    assert (
        model_operations(plain.scenario.model)
        == model_operations(again.scenario.model)
        == 87_387_863_997_480_960
    )
    assert percent(plain, 10**9) == percent(again, 10**9)


def test_twice_the_npus_or_twice_the_peak_is_half_the_utilisation() -> None:
    chosen = point(dp=64)
    faster = point("system.peak_tflops=900", dp=64)
    assert percent(faster, 10**9) == pytest.approx(percent(chosen, 10**9) / 2)
    assert percent(chosen, 2 * 10**9) == pytest.approx(percent(chosen, 10**9) / 2)


def test_it_is_left_out_where_it_cannot_be_trusted() -> None:
    config = compose_config(["system=system1", "model=llama70b"])
    chosen = point(dp=64)
    generator = StageGenerator("stage", "main.py", "python", 1.0)  # type: ignore[arg-type]
    scenario = dataclasses.replace(scenario_of(config), generator=generator)
    cases = [
        (chosen, True, "shards are cut"),
        (point("system.roofline_enabled=false", dp=64), False, "roofline_enabled"),
        (DesignPoint(scenario, Strategy(dp=64)), False, "another program"),
    ]
    for entry, is_fractional, reason in cases:
        found = model_utilization(entry, 10**9, is_fractional=is_fractional)
        assert found.percent is None
        assert reason in found.note
    assert model_utilization(chosen, 0, is_fractional=False).percent is None


def test_rows_have_it_and_the_tokens_per_second() -> None:
    row = evaluate(point("model.num_layers=4", dp=64))
    model = point("model.num_layers=4").scenario.model
    assert row.wall_time_ns is not None
    assert row.tokens_per_s == model.seq_len * model.batch_size * 1e9 / row.wall_time_ns
    assert row.tokens_per_s_per_npu == row.tokens_per_s / 64
    assert row.mfu_pct == percent(point("model.num_layers=4", dp=64), row.wall_time_ns)


def test_a_step_that_is_cut_has_neither() -> None:
    row = evaluate(point("model=tiny", "model.batch_size=60", dp=64))
    assert row.status == "ok"
    assert row.fractional
    assert (row.mfu_pct, row.tokens_per_s, row.tokens_per_s_per_npu) == (None, None, None)


def test_more_operations_than_fit_64_bits_are_counted() -> None:
    """Those of a step grow with the batch by equal steps."""
    (small, large) = (point(f"model.batch_size={size}").scenario.model for size in (1000, 200_000))
    assert model_operations(large) > 2**64
    assert model_operations(large) / model_operations(small) == pytest.approx(200, rel=1e-6)
