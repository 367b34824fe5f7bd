"""`dse run`: a training run from keys, a study or a plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_lines import error_of, run_ok

POINT = ("system=dgx_h100", "system.nodes=2", "model=llama3_8b", "model.batch_size=64")
STRATEGY = ("strategy.dp=16", "strategy.weight_sharded=true")


def test_a_point_becomes_a_run(tmp_path: Path) -> None:
    done = run_ok("run", *POINT, *STRATEGY, "tokens=100B", "spares=1", "price=2", cwd=tmp_path)
    assert done.out.startswith("run ")
    for name in ("time", "cost", "effective", "  compute", "  lost work", "failures", "checkpoint", "spares"):
        assert f"\n{name} " in done.out
    (data,) = [
        json.loads(run_ok("run", *POINT, *STRATEGY, "tokens=100B", "price=2", "--json", cwd=tmp_path).out)
    ]
    point = json.loads(run_ok("point", *POINT, *STRATEGY, "format=json", cwd=tmp_path).out)
    assert data["steps"] == -(-100_000_000_000 // (64 * 8192))
    assert data["step_s"] * 1e9 == pytest.approx(point["wall_time_ns"], abs=1)
    assert data["time_low_s"] < data["steps"] * data["step_s"] < data["time_s"] < data["time_high_s"]
    assert data["cost"] == pytest.approx(2 * data["npu_hours"])
    assert sum(data["parts_s"].values()) == pytest.approx(data["time_s"])
    assert data["energy_mwh"]["low"] < data["energy_mwh"]["value"] < data["energy_mwh"]["high"]
    assert data["emissions_t"] is None


def test_copies_that_every_failure_loses_are_not_called_a_run_without_failures(
    tmp_path: Path,
) -> None:
    asked = (*POINT, *STRATEGY, "checkpoint_at=local", "reliability=rsc1")
    out = run_ok("run", *asked, "tokens=100B", cwd=tmp_path).out
    assert "in the node, the best interval (no failure leaves one to read), each to storage" in out
    assert " expected, one in " in out
    assert ": 1 step on 16 NPUs " in run_ok("run", *asked, "tokens=10", cwd=tmp_path).out


def test_without_a_strategy_the_fastest_that_fits_runs(tmp_path: Path) -> None:
    best = json.loads(run_ok("run", *POINT, "steps=1000", "--json", cwd=tmp_path).out)
    other = json.loads(run_ok("run", *POINT, *STRATEGY, "steps=1000", "--json", cwd=tmp_path).out)
    assert best["step_s"] <= other["step_s"]


def test_the_best_point_of_a_study_runs(tmp_path: Path) -> None:
    run_ok("sweep", *POINT, "study=s", "space.axes={strategy.tp:[1,2]}", "space.dp=[16,8]", cwd=tmp_path)
    data = json.loads(run_ok("run", "results/s", "steps=10", "--json", cwd=tmp_path).out)
    best = json.loads(run_ok("best", "results/s", "--json", cwd=tmp_path).out)
    assert round(data["step_s"] * 1e9) == best["best_under_cap"]["wall_time_ns"]


def test_energy_is_left_out_where_the_power_is_unknown_and_refused_where_it_is_asked_for(
    tmp_path: Path,
) -> None:
    words = ("system=tpu_v5p_slice", "system.nodes=2", "model=llama3_8b", "model.batch_size=64", "steps=10")
    assert json.loads(run_ok("run", *words, "--json", cwd=tmp_path).out)["energy_mwh"] is None
    message = "accelerator tpu_v5p has no board_power_w, so its energy is unknown"
    assert message in error_of("run", *words, "grid=0.4", cwd=tmp_path)


def test_planned_stops_and_slow_storage_take_their_time(tmp_path: Path) -> None:
    words = (*POINT, *STRATEGY, "steps=100000")
    free, stopped, slow = (
        json.loads(run_ok("run", *words, *more, "--json", cwd=tmp_path).out)
        for more in ((), ("stop_every=10 d", "stop_for=1 d"), ("storage_gbps=0.1", "checkpoint=sync"))
    )
    assert stopped["time_s"] == pytest.approx(1.1 * free["time_s"], rel=1e-9)
    assert slow["parts_s"]["checkpoints"] > free["parts_s"]["checkpoints"]
    assert slow["checkpoint_interval_s"] > free["checkpoint_interval_s"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("steps=1",), "nothing to run: give the folder of a study"),
        ((*POINT, *STRATEGY), "tokens is missing; write tokens=15.6T, steps=N, or loss=2.0"),
        ((*POINT, "tokens=1T", "steps=5"), "tokens"),
        ((*POINT, "tokens=many"), "tokens is 'many'; write a number from 1 to 1e18"),
        ((*POINT, "steps=1", "price=-1"), "price is"),
        ((*POINT, "steps=1", "spares=-1"), "spares is"),
        ((*POINT, "steps=1", "spares=131073"), "it must be a whole number, 0 to 131072"),
        ((*POINT, "steps=1", "interval=30"), "interval is '30'; write a number and a unit of time"),
        ((*POINT, "steps=1", "stop_for=8 h"), "stop_for has no effect without stop_every"),
        ((*POINT, "steps=1", "checkpoint=never"), "checkpoint is"),
        ((*POINT, "steps=1", "reliability=lama3"), "did you mean 'llama3'?"),
        ((*POINT, "steps=1", "node_gbps=0"), "node_gbps is"),
        ((*POINT, "steps=1", "pue=0.5"), "pue is"),
        ((*POINT, "steps=1", "power=all"), "power is"),
        (("system=torus_4x4", "model=tiny", "steps=1"), "is simulated, not predicted"),
    ],
)
def test_wrong_questions_are_one_line(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    assert message in error_of("run", *words, cwd=tmp_path)
