"""The command plan: what it answers, writes and refuses, in one process."""

from __future__ import annotations

import functools
import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dse import plan
from dse.config import compose_config
from dse.errors import InputError
from dse.planner.inputs.synthetic import write_half_and_half, write_synthetic_profiles

FIRST = "first_profile=DeviceType.A100_tp1_bs16.json"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """16 V100 and 16 A100 in hosts of four, and profiles of ten layers: row 1 of the reference table."""
    folder = tmp_path_factory.mktemp("inputs")
    write_half_and_half(folder / "hostfile", folder / "clusterfile.json", 32)
    write_synthetic_profiles(folder / "profiles", 10)
    return folder


def keys(inputs: Path) -> list[str]:
    return [
        f"hostfile={inputs / 'hostfile'}",
        f"clusterfile={inputs / 'clusterfile.json'}",
        f"profiles={inputs / 'profiles'}",
        "type_order=[A100,V100]",
        "num_layers=10",
        "gbs=128",
    ]


Run = Callable[..., str]
_model = functools.cache(lambda words: compose_config(list(words)).model)


@pytest.fixture(autouse=True)
def models_are_composed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "_model", lambda words: _model(tuple(words)))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command and returns what it prints; notes are in `run.notes`."""

    def go(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        assert plan.main(arguments) == code
        printed = capsys.readouterr()
        go.notes = printed.err  # type: ignore[attr-defined]
        return printed.out

    return go


def refused(*arguments: str) -> str:
    """The message of a user error, which a command prints in one line (tests of `dse.cli`)."""
    with pytest.raises(InputError) as error:
        plan.main(arguments)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(("planner", "count", "plans"), [("metis", 612, 206), ("metis-strat", 562, 183)])
def test_the_walks_count_as_the_reference(
    run: Run, inputs: Path, planner: str, count: int, plans: int
) -> None:
    out = run(*keys(inputs), FIRST, f"planner={planner}", "cost=compat", "format=json")
    found = json.loads(out)
    best = found["best"]
    assert (found["planner"], found["cost_model"], found["count"], found["plans"]) == (
        planner,
        "compat",
        count,
        plans,
    )
    assert best["cost_ms"] == 1795.4520359635353
    assert (best["types"], best["groups"], best["strategies"]) == (["A100", "V100"], [32], [[1, 32]])
    assert (best["batches"], best["partition"]) == (1, [0, 10])
    assert (found["bound_ms"], found["optimal"]) == (None, False)
    assert found["seconds"] > 0


@pytest.mark.parametrize(
    ("mixed", "cost_ms", "groups", "partition"),
    [
        ("true", 1795.4520359635353, [32], [0, 10]),
        ("false", 2345.625866869221, [16, 16], [0, 3, 10]),
    ],
)
def test_the_exact_search_finds_the_known_optima(
    run: Run, inputs: Path, mixed: str, cost_ms: float, groups: list[int], partition: list[int]
) -> None:
    out = run(
        *keys(inputs), FIRST, "planner=exact", "cost=compat", f"allow_mixed_stages={mixed}", "format=json"
    )
    found = json.loads(out)
    assert (found["best"]["cost_ms"], found["best"]["groups"]) == (cost_ms, groups)
    assert (found["best"]["partition"], found["optimal"], found["bound_ms"]) == (partition, True, cost_ms)


def test_files_are_checked_and_a_changed_one_is_not_valid(run: Run, inputs: Path, tmp_path: Path) -> None:
    run(*keys(inputs), "planner=exact", "allow_mixed_stages=false", "-o", str(tmp_path / "out"))
    assert "valid: the plan costs what the file says" in run("check", str(tmp_path / "out"))
    file = tmp_path / "out" / "plan.json"
    data = json.loads(file.read_text(encoding="utf-8"))

    def changed(change: Callable[[dict[str, Any]], object]) -> str:
        own = json.loads(json.dumps(data))
        change(own)
        file.write_text(json.dumps(own), encoding="utf-8")
        verdict = json.loads(run("check", str(file), "format=json", code=1))
        assert not verdict["valid"]
        return "\n".join(verdict["lines"])

    assert "certificate" in changed(lambda own: own.update(certificate=None))
    assert "certificate" in changed(lambda own: own["certificate"]["blocks"].pop())
    assert "certificate" in changed(lambda own: own["certificate"].update(bound_ms=1.0))
    assert "plan" in changed(lambda own: own["plan"]["partition"].__setitem__(1, 1))
    assert changed(lambda own: own["problem"].update(gbs=64))
    # What people read of the answer is no part of the digest.
    assert "best.cost_ms: 1.0, but plan" in changed(lambda own: own["best"].update(cost_ms=1.0))
    assert "best.partition" in changed(lambda own: own["best"]["partition"].__setitem__(1, 1))
    assert "best.stages" in changed(lambda own: own["best"]["stages"][0].update(execution_ms=1.0))
    assert "bound_ms" in changed(lambda own: own.update(bound_ms=1.0))
    assert "optimal" in changed(lambda own: own.update(optimal="yes"))
    assert "ranking[1].cost_ms" in changed(lambda own: own["ranking"][1].update(cost_ms=1.0))
    assert "ranking[0]" in changed(lambda own: own["ranking"][0].update(batches=7))


def test_an_answer_without_proof_is_not_called_truncated(run: Run, inputs: Path, tmp_path: Path) -> None:
    run(*keys(inputs), FIRST, "planner=metis", "-o", str(tmp_path / "walk.json"))
    assert "for planner metis writes none; exact does" in run("check", str(tmp_path / "walk.json"), code=1)
    run(*keys(inputs), "planner=anytime", "time_limit=0.2", "-o", str(tmp_path / "boxes.json"))
    assert re.search(r"by [1-9]\d* proofs over all plans", run("check", str(tmp_path / "boxes.json")))
    run(*keys(inputs), "memory_reserve=0.99", "-o", str(tmp_path / "none.json"))
    assert "for planner exact found none" in run("check", str(tmp_path / "none.json"), code=1)


def test_the_simulator_orders_the_cheapest_plans(run: Run, inputs: Path) -> None:
    asked = (*keys(inputs), "planner=exact", "simulate=3")
    found = json.loads(run(*asked, "format=json"))
    plans = found["simulation"]["plans"]
    assert sorted(one["by_price"] for one in plans) == [1, 2, 3]
    assert [one["step_ms"] for one in plans] == sorted(one["step_ms"] for one in plans)
    for one in plans:
        assert one["price_ms"] == found["ranking"][one["by_price"] - 1]["cost_ms"]
        explained = one["price_ms"] + sum(one["effects"].values()) + one["remainder_ms"]
        assert explained == pytest.approx(one["step_ms"], rel=1e-9)
    assert "simulated, the shortest step first:" in run(*asked)
    assert "only the 2 cheapest are kept; write top=3" in refused(*asked, "top=2")


def test_a_file_that_is_cut_short_is_an_error(run: Run, inputs: Path, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    run(*keys(inputs), "planner=exact", "-o", str(file))
    file.write_text(file.read_text(encoding="utf-8")[:-500], encoding="utf-8")
    assert "malformed JSON" in refused("check", str(file))


def test_what_metis_s_best_plan_lacks_is_said(run: Run, inputs: Path) -> None:
    asked = [*keys(inputs), FIRST, "planner=metis"]
    assert "cannot run as it is: stage 0 has tensor groups over several types, priced at the" in run(*asked)
    assert json.loads(run(*asked, "format=json"))["best"]["defects"][1] == (
        "V100 tp 32: layers 0 to 9 need 51.9 GiB a GPU, 14.4 GiB may be used"
    )
    other = [key.replace("[A100,V100]", "[V100,A100]") for key in asked]
    truncated, *_ = json.loads(run(*other, "format=json"))["best"]["defects"]
    assert truncated == "its price counts 1 of its 2 stages"
    strict = json.loads(run(*keys(inputs), "planner=exact", "format=json"))
    assert strict["best"]["defects"] == []


def test_the_best_plan_is_drawn(run: Run, inputs: Path, tmp_path: Path) -> None:
    file = tmp_path / "plan.json.gz"
    plain = run(*keys(inputs), "planner=exact", "format=csv")
    assert run(*keys(inputs), "planner=exact", "format=csv", f"timeline={file}") == plain
    assert f"wrote {file}: " in run.notes  # type: ignore[attr-defined]
    events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    stages = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert len(stages) == len(plain.splitlines()) - 1


def test_a_walk_without_plans_does_not_say_that_none_fits(run: Run, inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("0.0.0.1 slots=1\n", encoding="utf-8")
    asked = [f"hostfile={tmp_path / 'hosts'}", *keys(inputs)[1:3], "gbs=128"]
    assert "no plan was found\nthe search found no plan, and does not prove" in run(*asked, "planner=metis")
    assert "no plan fits\n" in run(*asked, "planner=exact")
    page = tmp_path / "page.html"
    run(*asked, "planner=metis", "-o", str(page))
    assert "<h1>No plan was found</h1>" in page.read_text(encoding="utf-8")


def test_nothing_is_drawn_where_no_plan_fits(run: Run, inputs: Path, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    run(*keys(inputs), "planner=exact", "memory_reserve=0.99", f"timeline={file}")
    assert "no timeline was written" in run.notes  # type: ignore[attr-defined]
    assert not file.exists()


def test_prices_are_told_of_the_best_plan(run: Run, inputs: Path) -> None:
    asked = (*keys(inputs), "planner=exact", "prices=[A100:2,V100:0.5]")
    best = json.loads(run(*asked, "format=json"))["best"]
    assert best["price_per_hour"] == 40.0
    assert best["price_per_step"] == pytest.approx(best["cost_ms"] / 3.6e6 * 40)
    assert "the cluster costs 40.00 an hour, 27.622 for 1,000 steps" in run(*asked)


def test_labels_are_not_called_boxes_and_threads_are_said_to_do_nothing(run: Run, inputs: Path) -> None:
    out = run(*keys(inputs), FIRST, "planner=anytime", "cost=compat", "threads=2")
    assert re.search(r"planner anytime, cost model compat: \d+ labels in", out)
    assert "threads=2 has no effect" in run.notes  # type: ignore[attr-defined]


def test_forms_without_a_certificate_are_named(run: Run, inputs: Path, tmp_path: Path) -> None:
    for name in ("plan.csv", "plan.html"):
        run(*keys(inputs), "planner=exact", "-o", str(tmp_path / name))
        assert "has no certificate; check a .json, .yaml" in refused("check", str(tmp_path / name))


def test_all_forms_say_the_same(run: Run, inputs: Path) -> None:
    import yaml

    asked = (*keys(inputs), "planner=exact", "allow_mixed_stages=false")
    found = json.loads(run(*asked, "format=json"))
    again = yaml.safe_load(run(*asked, "format=yaml"))
    assert again["best"] == found["best"]
    table = run(*asked)
    assert "proven optimal" in table
    assert f"{found['best']['cost_ms']:.7g} ms a step" in table
    rows = run(*asked, "format=csv").splitlines()
    assert len(rows) == 1 + len(found["best"]["groups"])


def test_a_missing_profile_takes_out_only_its_plans(run: Run, inputs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    for file in (inputs / "profiles").iterdir():
        if file.name != "DeviceType.V100_tp1_bs1.json":
            (folder / file.name).write_bytes(file.read_bytes())
    asked = [key for key in keys(inputs) if not key.startswith("profiles=")]
    whole = json.loads(run(*keys(inputs), "planner=exact", "format=json"))
    found = json.loads(run(*asked, f"profiles={folder}", "planner=exact", "format=json"))
    assert whole["best"]["strategies"][0] == [8, 1]  # with a sample each, which is what is missing now
    assert found["best"]["cost_ms"] > whole["best"]["cost_ms"]
    assert found["optimal"]
    assert any("V100 tp 1 batch 1" in reason for reason in found["infeasible"]), found["infeasible"]


def test_compat_stops_where_the_profile_of_the_weights_is_missing(inputs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    for file in (inputs / "profiles").iterdir():
        if file.name != "DeviceType.A100_tp1_bs1.json":
            (folder / file.name).write_bytes(file.read_bytes())
    asked = [key for key in keys(inputs) if not key.startswith("profiles=")]
    message = refused(*asked, f"profiles={folder}", FIRST, "planner=metis")
    assert "A100 tp 1 batch 1" in message


def edited(inputs: Path, folder: Path, name: str, change: Callable[[dict[str, Any]], object]) -> str:
    """The key of a cluster file of which something is changed."""
    content = json.loads((inputs / "clusterfile.json").read_text(encoding="utf-8"))
    change(content)
    file = folder / name
    file.write_text(json.dumps(content), encoding="utf-8")
    return f"clusterfile={file}"


def test_bad_clusters_are_named(inputs: Path, tmp_path: Path) -> None:
    asked = [key for key in keys(inputs) if not key.startswith("clusterfile=")]
    bandwidth = edited(inputs, tmp_path, "a.json", lambda c: c["0.0.0.1"].update(inter_bandwidth=0))
    assert "inter_bandwidth=0: must be a positive number" in refused(*asked, bandwidth)
    memory = edited(inputs, tmp_path, "b.json", lambda c: c["0.0.0.1"].pop("memory"))
    assert "0.0.0.1: has no memory" in refused(*asked, memory)
    spelled = edited(inputs, tmp_path, "c.json", lambda c: c["0.0.0.1"].update(instance_type="v100"))
    assert "type V100: no memory" in refused(*asked, spelled, "planner=metis")
    hosts = tmp_path / "hostfile"
    hosts.write_text("0.0.0.1 slots=4\n0.0.0.4 slots=8\n", encoding="utf-8")
    asked = [f"hostfile={hosts}", *keys(inputs)[1:]]
    assert "line 2: 8 GPUs, but the first host has 4" in refused(*asked, "planner=metis")


def test_layers_that_do_not_match_are_refused(inputs: Path, tmp_path: Path) -> None:
    asked = [key.replace("num_layers=10", "num_layers=12") for key in keys(inputs)]
    assert refused(*asked).startswith("num_layers is 12, but the profiles have 10 layers")
    write_synthetic_profiles(tmp_path / "other", 12, batch=1)
    other = tmp_path / "other" / "DeviceType.A100_tp1_bs1.json"
    folder = tmp_path / "mixed"
    write_synthetic_profiles(folder, 10, batch=2)
    (folder / other.name).write_bytes(other.read_bytes())
    asked = [key for key in keys(inputs) if not key.startswith("profiles=")]
    assert "layers" in refused(*asked, f"profiles={folder}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "cluster is missing; write cluster=NAME, or hostfile=FILE clusterfile=FILE"),
        (("hostfile=x",), "clusterfile is missing"),
        (("clusterfile=x",), "hostfile is missing"),
        (("cluster=a100_v100", "hostfile=x"), "cluster and hostfile are two clusters; write one of them"),
        (
            ("cluster=a100_v100",),
            "times are missing; write model=NAME (predicted), profiles=DIR (measured), or",
        ),
        (("cluster=a100_v100", "model=tiny", "cluster=x"), "cluster is named 2 times"),
        (
            ("cluster=a100_v100", "model=tiny", "num_layers=3"),
            "no effect beside model=tiny, which has its own; w",
        ),
        (("cluster=a100_v100", "model=tiny", "vocabulary=3"), "write model.output_dim=…"),
        (
            ("cluster=a100_v100", "model=tiny", "costs=profiles"),
            "profiles is missing; costs=profiles needs it",
        ),
        (
            ("cluster=a100_v100", "model=tiny", "costs=model", "profiles=x"),
            "no effect with costs=model; write",
        ),
        (
            ("cluster=a100_v100", "model=tiny", "first_profile=x"),
            "first_profile has no effect with costs=model",
        ),
        (("cluster=a100_v100", "model=tiny", "permutation_limit=3"), "it is a key of planner=metis"),
        (("cluster=a100_v100", "model=tiny", "group_scale=3"), "it is a key of cost=compat"),
        (
            ("cluster=a100_v100", "model=tiny", "planner=metis", "allow_mixed_stages=true"),
            "a key of planner=exact",
        ),
        (
            ("cluster=a100_v100", "model=tiny", "cost=compat", "memory_reserve=0.1"),
            "write cost=strict, or leave",
        ),
        (("cluster=a100_v100", "model=tiny", "cost=compat"), "write cost=strict, or profiles=DIR"),
        (("cluster=a100_v100", "model=tiny", "planner=metis", "cost=strict"), "under compat only"),
        (("cluster=a100_v100", "model=tiny", "planner=best"), "planner=best: must be one of"),
        (("cluster=a100_v100", "model=tiny", "gbs=0"), "gbs is '0'; it must be a whole number from 1"),
        (
            ("cluster=a100_v100", "model=tiny", "memory_reserve=1"),
            "it must be a number of at least 0 and below 1",
        ),
        (
            ("cluster=a100_v100", "model=tiny", "time_limit=0"),
            "time_limit is 0; it must be a number of seconds",
        ),
        (("cluster=a100_v100", "model=tiny", "type_order=[A100]"), "it must have each of V100, A100 once"),
        (
            ("cluster=a100_v100", "model=tiny", "prices=[A100:1]"),
            "prices has no V100; write a price for each",
        ),
        (("cluster=a100_v100", "model=tiny", "prices=[T4:1]"), "prices is 'T4'; allowed are V100, A100"),
        (("cluster=a100_v100", "model=tiny", "allow_mixed_stages=yes"), "allowed are true, false"),
        (("cluster=a100_v100", "modl=tiny"), "unknown key modl; allowed are cluster,"),
        (
            ("cluster=a100_v100", "model=tiny", "-o", "x.txt"),
            "it must end in .json, .yaml, .csv, .parquet, .html",
        ),
        (("cluster=a100_v100", "model=tiny", "-o"), "-o lacks its value"),
        (("hots", "gpus=3"), "'hots' is no action and no key; actions are check,"),
        (("hosts", "gpus=32"), "-o is missing; write dse plan hosts … -o DIR"),
        (("hosts", "-o", "x"), "gpus is missing"),
        (("profiles", "-o", "x"), "layers is missing"),
        (("check",), "FILE is missing; write dse plan check FILE"),
        (("check", "none.json"), "cannot be read"),
        (("grow", "cluster=a100_v100", "model=tiny", "kind=T4"), "kind is 'T4'; allowed are V100, A100"),
        (("grow", "cluster=a100_v100", "model=tiny", "nodes=0"), "nodes is '0'; it must be a whole number"),
        (("grow", "cluster=a100_v100", "model=tiny", "host=0"), "unknown key host"),
        (
            ("fail", "cluster=a100_v100", "model=tiny", "host=8"),
            "host is '8'; it must be a number from 0 to 7",
        ),
        (
            ("fail", "cluster=a100_v100", "model=tiny", "slack=x"),
            "slack is 'x'; it must be a number from 0 to 10",
        ),
        (("subsets", "cluster=a100_v100", "model=tiny", "counts=some"), "allowed are doubling, all"),
        (("subsets", "cluster=a100_v100", "model=tiny", "-o", "x.html"), "goes to FILE.json, .yaml or .csv"),
        (
            ("front", "cluster=a100_v100", "model=tiny", "-o", "none/x.json"),
            "the folder none does not exist (-o)",
        ),
        (
            ("cluster=a100_v100", "model=tiny", "simulate=2", "format=csv"),
            "simulate=2 has no effect with format=csv",
        ),
        (
            ("cluster=a100_v100", "model=tiny", "cluster.nodes.0.inter_gbps=1.0e-300"),
            "cluster.nodes.0.inter_gbps is 1e-300; it must be a number above 0, 1e-09 to 1e+12",
        ),
        (("cluster=a100_v100", "model=tiny", "timeline=x.txt"), "it must end in .json or .json.gz"),
        (("cluster=a100_v100", "model=tiny", "timeline=none/x.json"), "the folder none does not exist"),
        (("grow", "cluster=a100_v100", "model=tiny", "timeline=x.json"), "unknown key timeline"),
        (("fail", "cluster=a100_v100", "model=tiny", "prices=[A100:1]"), "unknown key prices"),
        (("sweep", "study=x", "cluster=a100_v100", "model=tiny", "timeline=x.json"), "unknown key timeline"),
        (
            ("cluster=a100_v100", "model=tiny", "planner=enumerate", "time_limit=1"),
            "time_limit=1 has no effect with planner=enumerate",
        ),
        (
            ("cluster=a100_v100", "model=tiny", "prices=[A100:1,A100:2,V100:1]"),
            "prices has A100 twice",
        ),
        (
            ("cluster=a100_v100", "model=tiny", "prices=[A100,V100]"),
            "prices of A100 is ''; it must be a number",
        ),
        (("cluster=a100_v100", "model=tiny", "type_order=[A100,V100"), "'[A100,V100', which lacks a bracket"),
        (("sweep", "cluster=a100_v100", "model=tiny"), "study is missing; write study=NAME"),
        (("sweep", "study=x", "cluster=a100_v100", "model=tiny", "address=a:1"), "write executor=ray"),
        (
            ("sweep", "study=x", "cluster=a100_v100", "model=tiny", "gbs=[8,8]"),
            "a list has different entries",
        ),
    ],
)
def test_wrong_keys_are_refused(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refused(*arguments)
    assert not list(tmp_path.iterdir())


QUICK = ("model=tiny", "gbs=16", "max_tp=4")


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
    assert run("front", *cluster, "memory_reserve=0.9999") == "no subset of the nodes has a plan\n"
    for question in ("subsets", "front", "prices", "grow", "fail"):
        assert run(question, *cluster).count("\n") >= 3


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
    )
    (row,) = json.loads(run(*asked, "format=json", "workers=1"))
    assert (row["status"], row["cost_ms"]) == ("nothing_fits", None)
    assert row["reason"]
    assert "no plan fits" in run(*asked[2:])


def printed(arguments: Sequence[str], seed: str, folder: Path) -> bytes:
    """What a process of its own prints, under a hash seed; without the time that it took."""
    line = [sys.executable, "-m", "dse.plan", *arguments, "format=json"]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(line, cwd=folder, capture_output=True, check=True, env=environment, timeout=120)
    return b"\n".join(line for line in done.stdout.splitlines() if b'"seconds"' not in line)


def test_bytes_depend_on_no_hash_seed_file_order_or_threads(inputs: Path, tmp_path: Path) -> None:
    shuffled = tmp_path / "profiles"
    shuffled.mkdir()
    for file in sorted((inputs / "profiles").iterdir(), key=lambda file: file.name[::-1]):
        (shuffled / file.name).write_bytes(file.read_bytes())
    for planner in ("metis", "exact"):
        asked = [key for key in keys(inputs) if not key.startswith("profiles=")]
        asked += [f"planner={planner}", "cost=compat", FIRST]
        one = printed([*asked, f"profiles={inputs / 'profiles'}"], "1", tmp_path)
        assert printed([*asked, f"profiles={shuffled}", "threads=2"], "2", tmp_path) == one
