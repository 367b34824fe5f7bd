"""The command plan never tells a time or proof that cannot be, and says what its answers leave out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plan_command import FIRST, QUICK, Run, keys, refused

import dse
from dse.planner.problem.inputs.synthetic import write_synthetic_profiles

MIXED = ("cluster=a100_v100", "model=tiny", "max_tp=4", "cost=strict")


def profiles_with(folder: Path, change: Callable[[dict[str, Any]], object]) -> str:
    """The key of profiles of ten layers of which something is changed."""
    write_synthetic_profiles(folder, 10, batch=8)
    for file in folder.iterdir():
        content = json.loads(file.read_text(encoding="utf-8"))
        change(content["execution_time"])
        file.write_text(json.dumps(content), encoding="utf-8")
    return f"profiles={folder}"


def layers_times(factor: float) -> Callable[[dict[str, Any]], object]:
    """Makes the pass as long as its layers by the factor."""
    return lambda times: times.update(forward_backward_time_ms=sum(times["layer_compute_total_ms"]) / factor)


@pytest.mark.parametrize("cost", ["cost=strict", "cost=compat", "planner=metis", "planner=metis-strat"])
def test_layers_that_take_longer_than_their_pass_are_refused(inputs: Path, tmp_path: Path, cost: str) -> None:
    asked = [key for key in keys(inputs) if not key.startswith("profiles=")]
    message = refused(*asked, profiles_with(tmp_path / "p", layers_times(10.0)), cost)
    assert "DeviceType.A100_tp1_bs1.json: forward_backward_time_ms is 23.6" in message
    assert "but layer_compute_total_ms add up to 236.763; a pass takes as long as its layers" in message


def test_gaps_of_noise_count_as_0_and_the_answer_says_so(run: Run, inputs: Path, tmp_path: Path) -> None:
    asked = [*[key for key in keys(inputs) if not key.startswith("profiles=")], "format=json"]
    noisy = json.loads(run(*asked, profiles_with(tmp_path / "p", layers_times(1.03))))
    assert "layers that take longer than their pass, by up to 2.9 %" in run.notes  # type: ignore[attr-defined]
    run(*asked, "cost=compat", FIRST.replace("bs16", "bs8"), f"profiles={tmp_path / 'p'}", "max_batch=8")
    assert "cost=compat takes that off the step, as Metis does" in run.notes  # type: ignore[attr-defined]
    exact = json.loads(run(*asked, profiles_with(tmp_path / "q", layers_times(1.0))))
    assert noisy["best"]["gap_ms"] == 0.0
    assert noisy["best"]["cost_ms"] == exact["best"]["cost_ms"]


def edited_file(run: Run, tmp_path: Path, *asked: str) -> tuple[Path, dict[str, Any]]:
    file = tmp_path / "plan.json"
    run(*asked, "-o", str(file))
    return file, json.loads(file.read_text(encoding="utf-8"))


def test_a_file_with_layers_longer_than_their_pass_is_not_valid(run: Run, tmp_path: Path) -> None:
    from dse.planner.proofs.certificate import digest

    file, data = edited_file(run, tmp_path, *MIXED, "gbs=16")
    first = data["problem"]["profiles"]["profiles"][0]
    first["gap_ms"] = -0.5 * sum(first["layer_ms"])
    data["certificate"]["sha256"] = digest(data)
    file.write_text(json.dumps(data), encoding="utf-8")
    assert "problem: profile of A100 tp 1 batch 1: forward_backward_time_ms is" in run(
        "check", str(file), code=1
    )
    assert "a pass takes as long as its layers" in refused("explain", str(file))
    assert "a pass takes as long as its layers" in refused(
        "report", str(file), "-o", str(tmp_path / "p.html")
    )


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda p: p["profiles"]["profiles"][-1]["layer_memory_mb"].__setitem__(1, -5.0), "has -5; it must"),
        (lambda p: p["profiles"]["profiles"][-1]["layer_ms"].__setitem__(1, "inf"), "'inf' is no number"),
        (lambda p: p["profiles"]["profiles"][-1].update(gap_ms="nan"), "'nan' is no number"),
        (lambda p: p["profiles"]["profiles"][-1]["layer_ms"].pop(), "layer_ms has 5 layers, parameters"),
        (lambda p: p["profiles"]["profiles"].append(p["profiles"]["profiles"][0]), "profiles: two of A100"),
        (lambda p: p["profiles"].update(first=["A100", 64, 1]), "there is no profile of A100 tp 64 batch 1"),
        (lambda p: p["cluster"]["hosts"][0].__setitem__(2, 4.0), "hosts[0]: GPUs and island must be whole"),
        (lambda p: p["cluster"]["hosts"][0].__setitem__(3, 10**400), "must be a number above 0"),
        (lambda p: p["cluster"]["memory_gib"].update(A100=-80.0), "memory_gib of A100: '-80.0', must be"),
        (lambda p: p.update(type_order=["A100"]), "type_order: must have each of V100, A100 once"),
        (lambda p: p.update(memory_reserve=1.5), "memory_reserve: '1.5', must be"),
        (lambda p: p.update(max_tp="many"), "max_tp: 'many', must be a whole number from 1"),
        (lambda p: p.update(shard_optimizer=1), "shard_optimizer: '1', must be true or false"),
    ],
)
def test_a_problem_that_cannot_be_is_not_valid(
    run: Run, tmp_path: Path, change: Callable[[dict[str, Any]], object], line: str
) -> None:
    from dse.planner.proofs.check import check_plan

    _, data = edited_file(run, tmp_path, *MIXED, "gbs=16")
    change(data["problem"])
    (found,) = [
        text for text in check_plan(data).lines if text.startswith(("problem", "certificate.sha256"))
    ][-1:]
    data["certificate"].pop("sha256")
    assert line in "\n".join([found, *check_plan(data).lines])


def test_a_count_that_nobody_proves_is_not_repeated(run: Run, tmp_path: Path) -> None:
    from dse.planner.proofs.certificate import digest

    file, data = edited_file(run, tmp_path, *MIXED, "gbs=16", "planner=anytime")
    for plans in (10**40, -1):
        data["certificate"]["plans"] = plans
        data["certificate"]["sha256"] = digest(data)
        file.write_text(json.dumps(data), encoding="utf-8")
        out = run("check", str(file))
        assert "proofs over all plans\nchecked: problem, plan, cost, best, ranking" in out
        assert "not checked: planner, count, plans, seconds, infeasible, provenance, simulation" in out
        assert str(plans) not in out
        verdict = json.loads(run("check", str(file), "format=json"))
        assert (verdict["plans"], verdict["not_checked"][0]) == (None, "planner")


@pytest.mark.parametrize(
    "name", ['it\'s "q".yaml', "a: b #c.yaml", "line\nbreak.yaml", "ü & *x.yaml", "- [.yaml"]
)
def test_any_path_is_stored_with_the_plan(
    run: Run, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "nodes:\n  - {accelerator: a100_80, count: 1, gpus: 2, intra_gbps: 300, inter_gbps: 25}\n"
    (tmp_path / name).write_text(text, encoding="utf-8")
    run(f"cluster=./{name}", *QUICK, "-o", "plan.json")
    stored = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert stored["provenance"]["configuration"]["cluster"] == f"./{name}"


def test_a_proof_names_the_space_and_what_it_leaves_out(run: Run) -> None:
    asked = (*MIXED, "gbs=16")
    table = run(*asked)
    assert "16 V100 + 16 A100, predicted (fidelity=realistic)\n" in table
    assert "proven optimal within this space\n" in table
    (line,) = [line for line in table.splitlines() if line.startswith("this space leaves out")]
    for name in ("sequence parallelism", "recomputation", "ZeRO-2 and ZeRO-3 (FSDP)", "interleaved stages"):
        assert name in line
    switched = json.loads(run(*asked, "sequence_parallel=true", "shard_optimizer=true", "format=json"))
    assert switched["excludes"] == [
        "recomputation",
        "context parallelism",
        "ZeRO-2 and ZeRO-3 (FSDP)",
        "interleaved stages",
    ]


def test_sequence_parallelism_needs_less_memory_and_so_other_shapes(
    run: Run, inputs: Path, tmp_path: Path
) -> None:
    """Llama-3 70B on 32 A100: 90 s in seven stages of tp 2 to 8 without, 83 s in three with it."""
    nodes = "nodes:\n  - {accelerator: a100_80, count: 4, gpus: 8, intra_gbps: 300, inter_gbps: 200}\n"
    (tmp_path / "a32.yaml").write_text(nodes, encoding="utf-8")
    asked = (
        f"cluster={tmp_path / 'a32.yaml'}",
        "model=llama3_70b",
        "gbs=128",
        "shard_optimizer=true",
        "cost=strict",
    )
    without, with_it = (
        json.loads(run(*asked, f"sequence_parallel={word}", "format=json"))["best"]
        for word in ("false", "true")
    )
    assert with_it["cost_ms"] < 0.95 * without["cost_ms"]
    assert len(with_it["groups"]) < len(without["groups"])
    assert "sequence_parallel has no effect with costs=profiles" in refused(
        *keys(inputs), "sequence_parallel=true"
    )


def test_experts_that_are_not_spread_are_told(run: Run) -> None:
    asked = ("cluster=h100_a100", "model=mixtral_8x7b", "gbs=64", "max_batch=2", "cost=strict", "format=json")
    found = json.loads(run(*asked))
    assert "expert parallelism" in found["excludes"]
    assert "experts are not spread over GPUs" in run.notes  # type: ignore[attr-defined]
    assert "holds all 8 of a layer" in run.notes  # type: ignore[attr-defined]


def test_predicted_times_say_how_sure_they_are_on_each_accelerator(run: Run) -> None:
    run("cluster=h100_a100", "model=mixtral_8x7b", "gbs=64", "max_batch=2", "format=json")
    for name in ("h100_sxm", "a100_80"):
        said = rf"note: {name} alone: 80 % of measured steps lie -\d+ to \+\d+ % from the predicted time: "
        assert re.search(said, run.notes)  # type: ignore[attr-defined]


def test_a_plan_is_as_sure_as_the_sweep_of_the_same_question(run: Run) -> None:
    """The ways to run layers are those of the framework of a sweep, and so are the unseen runs."""
    asked = ("model=llama3_8b", "model.batch_size=512")
    run("cluster=dgx_h100", *asked, "gbs=512")
    told = re.search(r"note: h100_sxm alone: (.*)", run.notes)  # type: ignore[attr-defined]
    overrides = ["system=dgx_h100", *asked]
    step = dse.predict_step(overrides=overrides, strategy={"dp": 64, "framework": "megatron-bridge"})
    assert told is not None
    assert told[1] in step.notes


def test_types_are_told_in_the_order_of_the_stages(run: Run) -> None:
    """The cluster lists V100 first; the plan gives the first stage to A100, and others use A100 alone."""
    asked = ("cluster=a100_v100", "model=megatron_1.7b", "gbs=128")
    found = json.loads(run(*asked, "format=json"))
    stages = [type_ for stage in found["best"]["stages"] for type_ in stage["types"]]
    assert found["best"]["stage_types"] == list(dict.fromkeys(stages)) == ["A100", "V100"]
    assert found["best"]["types"] == ["V100", "A100"]
    assert ["A100"] in [plan["stage_types"] for plan in found["ranking"] if len(plan["groups"]) == 1]
    told = run(*asked)
    assert "types in the order A100, V100, " in told
    (first,) = [line.split() for line in told.splitlines() if line.startswith("   1  ")]
    assert first[5] == "A100,V100"


def test_throughput_is_told_by_hand(run: Run, inputs: Path, tmp_path: Path) -> None:
    """16 V100 (125 TFLOPS) and 16 A100 (312); FLOPs of the model as everywhere."""
    from dse.inputs.models.flops import training_flops
    from dse.studies.config import compose_config

    asked = ("cluster=a100_v100", "model=megatron_1.7b", "gbs=128")
    best = json.loads(run(*asked, "format=json"))["best"]
    model = compose_config(["model=megatron_1.7b", "model.batch_size=128"]).model
    step_s = best["cost_ms"] / 1000
    assert best["sequences_per_s"] == pytest.approx(128 / step_s)
    assert best["tokens_per_s"] == pytest.approx(128 * model.seq_len / step_s)
    peak = 16 * 125e12 + 16 * 312e12
    assert best["mfu_pct"] == pytest.approx(100 * training_flops(model) / (step_s * peak))
    assert f"MFU {best['mfu_pct']:.1f} %" in run(*asked)
    page = tmp_path / "plan.html"
    run(*asked, "-o", str(page))
    assert f"{best['mfu_pct']:.1f} %" in page.read_text(encoding="utf-8")
    assert "This space leaves out replicas of a stage that differ" in page.read_text(encoding="utf-8")
    measured = json.loads(run(*keys(inputs), "format=json"))["best"]
    assert (measured["tokens_per_s"], measured["mfu_pct"]) == (None, None)
    assert measured["mfu_note"].startswith("profiles have no model")
    assert "no tokens/s and MFU: profiles have no model" in run(*keys(inputs))
    assert "16 V100 + 16 A100, with measured layers\n" in run(*keys(inputs))


def test_a_sweep_stores_throughput(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ("sweep", "study=s", *MIXED, "gbs=16", "workers=1")
    (row,) = json.loads(run(*asked, "format=json"))
    best = json.loads(row["plan"])
    assert (row["tokens_per_s"], row["mfu_pct"]) == (best["tokens_per_s"], best["mfu_pct"])
    assert row["mfu_pct"] > 0


def test_a_front_says_why_a_slower_and_dearer_subset_is_on_it(run: Run) -> None:
    cluster = ("cluster=a100_v100", "cluster.nodes.0.count=2", "cluster.nodes.1.count=2", *QUICK)
    entries = json.loads(run("front", *cluster, "format=json"))["answers"]
    assert "least time" in entries[0]["kept_for"]
    for one in entries:
        beaten = any(
            other["step_ms"] <= one["step_ms"] and other["price_per_hour"] <= one["price_per_hour"]
            for other in entries
            if other is not one
        )
        assert (one["kept_for"] == "less memory only: others are as fast and as cheap") == beaten
    assert "kept for" in run("front", *cluster)


def test_times_have_units_as_everywhere(run: Run, tmp_path: Path) -> None:
    asked = ("cluster=h100_a100", "model=llama3_8b", "gbs=512", "cluster.nodes.0.count=1")
    page = tmp_path / "page.html"
    table = run(*asked, "cluster.nodes.1.count=1", "-o", str(page))
    assert " s per step; " in table
    assert not re.search(r"\de\+0", table + page.read_text(encoding="utf-8"))


def test_an_answer_of_beams_is_not_called_exact(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.planner.search.planners.exact.MOST_LABELS", 10)
    asked = (*MIXED, "gbs=16", "planner=exact")
    assert "planner anytime, cost model strict: " in run(*asked)
    assert "planner=exact did not end" in run.notes  # type: ignore[attr-defined]
    assert json.loads(run(*asked, "format=json"))["planner"] == "anytime"


def test_rows_of_studies_without_throughput_are_read(tmp_path: Path) -> None:
    """Version 1 of the rows had neither tokens_per_s nor mfu_pct."""
    import dataclasses
    import typing

    from dse.studies.plans import PLANS, PlanRow
    from dse.studies.store import StudyStore

    new = ("tokens_per_s", "mfu_pct")
    types = typing.get_type_hints(PlanRow, include_extras=True)
    fields = [
        (entry.name, types[entry.name]) for entry in dataclasses.fields(PlanRow) if entry.name not in new
    ]
    older_row = dataclasses.make_dataclass("PlanRow", fields, frozen=True)
    older = dataclasses.replace(PLANS, row=older_row)
    values: dict[str, Any] = dict.fromkeys(name for name, _ in fields)
    values.update(
        cluster="c", model="m", gpus=4, gpus_by_type="{}", layers=6, gbs=8, costs="model", asked="auto"
    )
    values.update(cost_model="strict", allow_mixed_stages=True, max_tp=4, memory_reserve=0.1, status="ok")
    values.update(reason="", key="a" * 64, cost_ms=12.5)
    StudyStore.create(tmp_path / "s", older).append([older_row(**values)])
    (row,) = StudyStore(tmp_path / "s", PLANS).rows()
    assert (row.cost_ms, row.tokens_per_s, row.mfu_pct) == (12.5, None, None)


def test_more_types_than_can_be_ordered_are_refused(tmp_path: Path) -> None:
    node = "  - {{type: T{}, accelerator: a100_80, count: 1, gpus: 1, intra_gbps: 300, inter_gbps: 25}}\n"
    file = tmp_path / "many.yaml"
    file.write_text("nodes:\n" + "".join(node.format(i) for i in range(12)), encoding="utf-8")
    for planner in ("auto", "exact", "fast"):
        assert "the cluster has 12 GPU types; at most 7" in refused(
            f"cluster={file}", *QUICK, f"planner={planner}"
        )


def test_micro_batches_of_a_large_batch_are_its_divisors() -> None:
    from dataclasses import replace

    from dse.planner.problem.cluster import MixedCluster
    from dse.planner.problem.problem import PlanProblem, ProfileKey, ProfileSet
    from dse.planner.search.space import micro_batches

    problem = PlanProblem(MixedCluster((), {}), ProfileSet({}, ProfileKey("A", 1, 1), ()), (), gbs=12)
    assert micro_batches(problem) == [12, 6, 4, 3, 2, 1]
    assert micro_batches(replace(problem, gbs=16)) == [16, 8, 4, 2, 1]
    assert micro_batches(replace(problem, gbs=2**31 - 1)) == [2**31 - 1, 1]
