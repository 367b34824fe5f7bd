"""The commands of plan: prices, questions, profiles and sweeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plan_command import QUICK, Run, keys, refused

from dse.commands.plan.__main__ import ACTIONS


def test_prices_of_files_can_be_given(run: Run, inputs: Path) -> None:
    assert "prices are unknown" in refused("prices", *keys(inputs))
    out = run("prices", *keys(inputs), "prices=[A100:2,V100:0.5]", "format=json")
    entries = json.loads(out)["answers"]
    for type_ in ("A100", "V100"):
        own = [entry for entry in entries if entry["type"] == type_]
        assert own[0]["from"] == 0
        assert own[-1]["to"] is None
        assert [entry["to"] for entry in own[:-1]] == [entry["from"] for entry in own[1:]]
        assert own[0]["gpus"].get(type_, 0) > 0  # what costs nothing is used


def test_questions_are_answered(run: Run) -> None:
    cluster = ("cluster=a100_v100", "cluster.nodes.0.count=2", "cluster.nodes.1.count=2", *QUICK)
    subsets = json.loads(run("subsets", *cluster, "format=json"))["answers"]
    assert len(subsets) == 3 * 3 - 1
    times = [entry["step_ms"] for entry in subsets]
    assert times == sorted(times)
    front = json.loads(run("front", *cluster, "format=json"))["answers"]
    assert front[0]["step_ms"] == times[0]
    assert {json.dumps(entry["nodes"]) for entry in front} <= {
        json.dumps(entry["nodes"]) for entry in subsets
    }
    grown = json.loads(run("grow", *cluster, "nodes=2", "kind=A100", "format=json"))["answers"]
    assert (grown[0]["kind"], grown[0]["gpus"]) == ("A100", 24)
    failed = json.loads(run("fail", *cluster, "format=json"))["answers"]
    assert [entry["type"] for entry in failed] == ["V100", "A100"]
    for entry in failed:
        assert entry["nearest"]["moved_bytes"] <= entry["fastest"]["moved_bytes"] <= entry["weights_bytes"]
        assert entry["nearest"]["step_ms"] <= 1.05 * entry["fastest"]["step_ms"]
        assert entry["host"] not in entry["fastest"]["hosts"]
    assert run("front", *cluster, "memory_reserve=0.9999", code=1) == "no subset of the nodes has a plan\n"
    for question in ("subsets", "front", "prices", "grow", "fail"):
        assert run(question, *cluster).count("\n") >= 3


FRAGILE = """
detection: 2 min
restart: 30 min
repair: 2 days
components:
  node: {rate: 1 per 40 node-days, takes_node: true}
"""


def test_failures_change_the_best_subset_of_a_run(run: Run, tmp_path: Path) -> None:
    """Four nodes of V100 more make steps 8 % faster, and wait for repairs twice as often."""
    rates = tmp_path / "fragile.yaml"
    rates.write_text(FRAGILE)
    asked = ("cluster=a100_v100", "model=megatron_1.7b", "gbs=64", "max_batch=8", "tokens=2T", "spares=0")
    asked = (*asked, f"reliability={rates}", "storage_gbps=1")
    assert "failures change the best: 4 V100 + 4 A100 fails" in run(
        "subsets", *asked, "objective=expected_time"
    )
    entries = json.loads(run("subsets", *asked, "objective=cost", "format=json"))["answers"]
    costs = [entry["run_cost"] for entry in entries if entry["run_cost"] is not None]
    assert costs == sorted(costs)
    of_nodes = {sum(entry["nodes"].values()): entry for entry in entries if not entry["nodes"].get("V100")}
    assert of_nodes[4]["run_effective"] < of_nodes[2]["run_effective"] < of_nodes[1]["run_effective"]
    assert of_nodes[1]["run_time_s"] > of_nodes[1]["step_ms"] / 1000 * 2e12 / (64 * 2048)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("objective=cost",), "objective is cost, but no run is asked for: write tokens=15T as well"),
        (("objective=energy", "tokens=1T"), "objective is 'energy'; allowed are step, expected_time, cost"),
        (("spares=1",), "tokens is missing"),
        (("tokens=1T", "cost=strict"), "tokens needs a model's steps"),
        (("tokens=1T", "cluster.nodes.0.gpus=8"), "runs have nodes of one size"),
    ],
)
def test_runs_of_subsets_refuse_wrong_keys(words: tuple[str, ...], message: str) -> None:
    assert message in refused("subsets", "cluster=a100_v100", "model=megatron_1.7b", "gbs=64", *words)


def test_costs_are_calibrated_by_profiles(run: Run, inputs: Path) -> None:
    asked = ("cluster=a100_v100", "model=megatron_1.7b", "gbs=64", "max_batch=8")
    predicted = json.loads(run(*asked, "format=json"))
    scaled = json.loads(run(*asked, f"profiles={inputs / 'profiles'}", "format=json"))
    assert "A100: predicted layers x" in run.notes  # type: ignore[attr-defined]
    assert scaled["best"]["cost_ms"] != predicted["best"]["cost_ms"]


def test_a_sweep_goes_on(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ("sweep", "study=s", "cluster=a100_v100", *QUICK[:1], *QUICK[2:], "workers=1")
    first = run(*asked, "gbs=[16,32]")
    assert "2 of 2 were computed" in run.notes  # type: ignore[attr-defined]
    assert first.count("tiny") == 2
    rows = json.loads(run(*asked, "gbs=[16,32,64]", "allow_mixed_stages=[true,false]", "format=json"))
    assert "4 of 6 were computed" in run.notes  # type: ignore[attr-defined]
    assert sorted((row["gbs"], row["allow_mixed_stages"]) for row in rows) == [
        (gbs, mixed) for gbs in (16, 32, 64) for mixed in (False, True)
    ]
    assert all(row["status"] == "ok" and row["optimal"] for row in rows)
    best = json.loads(rows[0]["plan"])
    assert best["cost_ms"] == rows[0]["cost_ms"]
    assert sum(best["groups"]) == 32


def test_the_usage_of_sweep_names_keys_that_have_an_effect() -> None:
    named = ACTIONS["sweep"].keys["study"]
    assert list(named) == ["study", "executor", "threads", "workers", "address"]


def test_rows_of_searches_of_old_are_planned_again(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Since the first version `auto` chooses by another size, and searches have other bounds and beams."""
    monkeypatch.chdir(tmp_path)
    asked = ("sweep", "study=s", "cluster=a100_v100", *QUICK, "workers=1")
    with monkeypatch.context() as before:
        before.setattr("dse.studies.plans.case.VERSION", 1)
        run(*asked)
    run(*asked)
    assert "1 of 1 were computed" in run.notes  # type: ignore[attr-defined]
    run(*asked)
    assert "0 of 1 were computed" in run.notes  # type: ignore[attr-defined]


def test_what_does_not_fit_is_a_row_with_its_reason(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = (
        "sweep",
        "study=s",
        "cluster=a100_v100",
        "model=gpt3_175b",
        "gbs=1536",
        "max_tp=1",
        "max_batch=1",
        "cost=strict",
    )
    (row,) = json.loads(run(*asked, "format=json", "workers=1"))
    assert (row["status"], row["cost_ms"]) == ("nothing_fits", None)
    assert row["reason"]
    assert "no plan fits" in run(*asked[2:], code=1)


def test_prices_are_told_of_the_best_plan(run: Run, inputs: Path) -> None:
    asked = (*keys(inputs), "planner=exact", "prices=[A100:2,V100:0.5]")
    best = json.loads(run(*asked, "format=json"))["best"]
    assert best["price_per_hour"] == 40.0
    assert best["price_per_step"] == pytest.approx(best["cost_ms"] / 3.6e6 * 40)
    assert "the cluster costs 40.00 an hour, 27.622 for 1,000 steps" in run(*asked)
