"""The command plan: what it refuses, and with which words."""

from __future__ import annotations

from pathlib import Path

import pytest
from plan_command import FIRST, Run, edited, keys, refused

from dse.planner.problem.inputs.synthetic import write_synthetic_profiles


def test_a_file_that_is_cut_short_is_an_error(run: Run, inputs: Path, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    run(*keys(inputs), "planner=exact", "-o", str(file))
    file.write_text(file.read_text(encoding="utf-8")[:-500], encoding="utf-8")
    assert "malformed JSON" in refused("check", str(file))


def test_compat_stops_where_the_profile_of_the_weights_is_missing(inputs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    for file in (inputs / "profiles").iterdir():
        if file.name != "DeviceType.A100_tp1_bs1.json":
            (folder / file.name).write_bytes(file.read_bytes())
    asked = [key for key in keys(inputs) if not key.startswith("profiles=")]
    message = refused(*asked, f"profiles={folder}", FIRST, "planner=metis")
    assert "A100 tp 1 batch 1" in message


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
        (("cluster=a100_v100", "model=tiny", "planner=best"), "allowed are auto, fast, exact"),
        (("cluster=a100_v100", "model=tiny", "gbs=0"), "gbs is '0'; it must be a whole number, 1 to 1048576"),
        (
            ("cluster=a100_v100", "model=tiny", "memory_reserve=1"),
            "it must be a number of at least 0 and below 1",
        ),
        (
            ("cluster=a100_v100", "model=tiny", "time_limit=0"),
            "time_limit is '0'; it must be a number above 0 and below 1e+09",
        ),
        (("cluster=a100_v100", "model=tiny", "type_order=[A100]"), "it must have each of V100, A100 once"),
        (
            ("cluster=a100_v100", "model=tiny", "prices=[A100:1]"),
            "prices has no V100; write a price for each",
        ),
        (("cluster=a100_v100", "model=tiny", "prices=[T4:1]"), "prices is 'T4'; allowed are V100, A100"),
        (
            ("cluster=a100_v100", "model=tiny", "cost=strict", "allow_mixed_stages=yes"),
            "allowed are true, false",
        ),
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
        (("grow", "cluster=a100_v100", "model=tiny", "-o", "x.html"), "goes to FILE.json, .yaml or .csv"),
        (("front", "cluster=a100_v100", "model=tiny", "-o", "x.txt"), "FILE.json, .yaml, .csv or .html"),
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
        (
            ("cluster=four_generations_4k", "model=tiny", "cost=strict", "timeline=x.json"),
            "timeline: plans of 4,096 GPUs cannot be simulated: a graph of 4096 NPUs and 5637 devices is too",
        ),
        (
            ("cluster=four_generations_4k", "model=tiny", "cost=strict", "simulate=2"),
            "simulate=2: plans of 4,096 GPUs cannot be simulated: a graph of 4096 NPUs and 5637 devices",
        ),
        (("grow", "cluster=a100_v100", "model=tiny", "timeline=x.json"), "unknown key timeline"),
        (("fail", "cluster=a100_v100", "model=tiny", "prices=[A100:1]"), "unknown key prices"),
        (("sweep", "study=x", "cluster=a100_v100", "model=tiny", "timeline=x.json"), "unknown key timeline"),
        (
            ("cluster=a100_v100", "model=tiny", "cost=strict", "planner=exact", "gap=0.01"),
            "gap=0.01 has no effect with planner=exact and cost=strict; it is a key of planner=fast",
        ),
        (("cluster=a100_v100", "model=tiny", "threads=2"), "unknown key threads"),
        (("cluster=a100_v100", "model=tiny", "sequence_parallel=true"), "has no effect with cost=step"),
        (("cluster=a100_v100", "model=tiny", "shard_optimizer=true"), "which tries each stage of ZeRO"),
        (("cluster=a100_v100", "model=tiny", "allow_mixed_stages=true"), "whose stages have one type each"),
        (("cluster=a100_v100", "model=tiny", "simulate=2"), "simulate=2 has no effect with cost=step"),
        (("cluster=a100_v100", "model=tiny", "cost=strict", "uniform=true"), "it is a key of cost=step"),
        (
            ("cluster=a100_v100", "model=tiny", "cost=step", "costs=calibrated", "profiles=x"),
            "costs is calib",
        ),
        (("cluster=a100_v100", "model=tiny", "gap=1"), "gap is '1'; it must be a number of at least 0 and"),
        (("explain",), "FILE is missing; write dse plan explain FILE"),
        (("report", "x.json"), "write dse plan report FILE -o FILE.html"),
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
