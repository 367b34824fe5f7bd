"""Host files, cluster files and profiles: what they mean, and what is wrong with bad ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dse.base.errors import InputError
from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.inputs import read_cluster, read_profiles
from dse.planner.problem.inputs.profile_files import key_of
from dse.planner.problem.inputs.synthetic import write_half_and_half, write_synthetic_profiles
from dse.planner.problem.problem import PlanProblem, ProfileKey
from dse.planner.search.planner import Limits
from dse.planner.search.planners import planner_named
from dse.planner.search.planners.metis import walk

NODES: dict[str, Any] = {
    "10.0.0.2": {"instance_type": "V100", "inter_bandwidth": 5, "intra_bandwidth": 60.5, "memory": 32},
    "10.0.0.1": {"instance_type": "A100", "inter_bandwidth": 10, "intra_bandwidth": 50, "memory": 80},
    "10.0.0.3": {"instance_type": "V100", "inter_bandwidth": 7, "intra_bandwidth": 40, "memory": 16},
}
FIRST = "DeviceType.A100_tp1_bs1.json"
Change = Callable[[dict[str, Any]], Any]


def cluster_of(folder: Path, hosts: str, nodes: Any = NODES, compat: bool = False) -> MixedCluster:
    """Write a host file and a cluster file, and read them."""
    (folder / "hostfile").write_text(hosts)
    (folder / "clusterfile.json").write_text(json.dumps(nodes))
    return read_cluster(folder / "hostfile", folder / "clusterfile.json", compat)


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    """Profiles of two types, degrees 1 and 2, batches 1 and 2, four layers."""
    folder = tmp_path / "profiles"
    write_synthetic_profiles(folder, layers=4, batch=2)
    return folder


def change(file: Path, edit: Change) -> None:
    """Edit a JSON file."""
    content = json.loads(file.read_text())
    edit(content)
    file.write_text(json.dumps(content))


@pytest.mark.parametrize("compat", [True, False])
def test_hosts_have_type_links_and_memory_of_the_type_s_first_record(tmp_path: Path, compat: bool) -> None:
    cluster = cluster_of(tmp_path, "10.0.0.3 slots=4\n10.0.0.1 slots=4\n10.0.0.3 slots=4\n", compat=compat)
    v100 = Host("10.0.0.3", "V100", 4, 40.0, 7.0)
    assert cluster.hosts == (v100, Host("10.0.0.1", "A100", 4, 50.0, 10.0), v100)
    assert cluster.memory_gib == {"V100": 32.0, "A100": 80.0}
    assert cluster.types == ("V100", "A100")


def test_strict_reads_any_number_of_slots_and_types(tmp_path: Path) -> None:
    nodes = {**NODES, "n": {**NODES["10.0.0.1"], "instance_type": "h100"}}
    cluster = cluster_of(tmp_path, "10.0.0.1 slots=16\nn slots=3", nodes)
    assert [(host.type, host.gpus) for host in cluster.hosts] == [("A100", 16), ("H100", 3)]
    assert cluster.memory_gib["H100"] == 80.0


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        ("10.0.0.1 slots=16\n", r"line 1: slots=16: Metis takes the one character .* read 1; .* cost=strict"),
        ("10.0.0.1 slots=4\n10.0.0.2 slots=8\n", r"line 2: 8 GPUs, but the first host has 4; .*cost=strict"),
    ],
)
def test_compat_refuses_what_metis_would_misread(tmp_path: Path, hosts: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        cluster_of(tmp_path, hosts, compat=True)
    assert cluster_of(tmp_path, hosts).gpus > 8


def test_compat_knows_metis_s_types_and_their_upper_case_records_only(tmp_path: Path) -> None:
    nodes = {"a": {**NODES["10.0.0.1"], "instance_type": "H100"}}
    with pytest.raises(InputError, match=r"a: instance_type H100: Metis knows A100, V100, P100, T4; cost=st"):
        cluster_of(tmp_path, "a slots=4\n", nodes, compat=True)
    nodes = {"a": {**NODES["10.0.0.1"], "instance_type": "a100"}}
    with pytest.raises(InputError, match=r"type A100: no memory, for no record spells its type in upper"):
        cluster_of(tmp_path, "a slots=4\n", nodes, compat=True)
    assert cluster_of(tmp_path, "a slots=4\n", nodes).memory_gib == {"A100": 80.0}


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        ("", r"hostfile: is empty"),
        ("10.0.0.1 slots=4\n\n10.0.0.2 slots=4\n", r"line 2: '' is no host"),
        ("10.0.0.1  slots=4\n", r"line 1: '10\.0\.0\.1  slots=4' is no host; write '<address> slots=<GPUs>'"),
        ("10.0.0.1 slots=0\n", r"slots=0: must be a number of GPUs, at least 1"),
        ("10.0.0.1 slots=x\n", r"slots=x: must be a number"),
        ("10.0.0.1 slots=-4\n", r"slots=-4"),
        (
            "10.0.0.9 slots=4\n",
            r"line 1: 10\.0\.0\.9 has no record in .*clusterfile\.json; did you mean '10\.0",
        ),
        ("10.0.0.1 slots=9999999\n", r"more than 1048576 GPUs"),
    ],
)
@pytest.mark.parametrize("compat", [True, False])
def test_bad_host_files(tmp_path: Path, hosts: str, message: str, compat: bool) -> None:
    if compat and ("9999999" in hosts or "slots=-4" in hosts):
        message = "the one character after slots="
    with pytest.raises(InputError, match=message):
        cluster_of(tmp_path, hosts, compat=compat)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("intra_bandwidth", 0, r"10\.0\.0\.1: intra_bandwidth=0: must be a positive number"),
        ("inter_bandwidth", 0, r"inter_bandwidth=0: must be a positive number"),
        ("inter_bandwidth", 1e-300, r"inter_bandwidth=1e-300: must be a positive number, 1e-09 to 1e\+12"),
        ("intra_bandwidth", -1.5, r"intra_bandwidth=-1\.5"),
        ("memory", 0, r"memory=0: must be a positive number"),
        ("memory", "80", r"memory=80: must be a positive number"),
        ("memory", True, r"memory=True"),
        (
            "memory",
            10**400,
            r"clusterfile\.json: line \d+: the number 1000.* has 401 characters; at most 250",
        ),
        ("memory", 10**200, r"memory=1000"),
        ("instance_type", 7, r"instance_type=7: must be the name of a GPU type"),
        ("instance_type", None, r"instance_type=None"),
        ("instance_type", "\ud800", r"must be the name of a GPU type"),
    ],
)
def test_bad_records(tmp_path: Path, key: str, value: Any, message: str) -> None:
    nodes = {**NODES, "10.0.0.1": {**NODES["10.0.0.1"], key: value}}
    with pytest.raises(InputError, match=message):
        cluster_of(tmp_path, "10.0.0.1 slots=4\n", nodes)


def test_records_without_memory_and_files_without_records(tmp_path: Path) -> None:
    record = {key: value for key, value in NODES["10.0.0.1"].items() if key != "memory"}
    with pytest.raises(InputError, match=r"10\.0\.0\.1: has no memory; a record has instance_type, inter_"):
        cluster_of(tmp_path, "10.0.0.1 slots=4\n", {"10.0.0.1": record})
    with pytest.raises(InputError, match="has no records"):
        cluster_of(tmp_path, "10.0.0.1 slots=4\n", {})
    with pytest.raises(InputError, match=r"10\.0\.0\.1: is a list; it must be an object of instance_type"):
        cluster_of(tmp_path, "10.0.0.1 slots=4\n", {"10.0.0.1": [1]})


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("DeviceType.A100_tp2_bs4.json", ("A100", 2, 4)),
        ("DeviceType.h100_sxm_tp16_bs128.json", ("H100_SXM", 16, 128)),
        ("gpt.DeviceType.V100_bs8_tp1.json", ("V100", 1, 8)),
        ("DeviceType.A100_tp2_bs4.txt", None),
        ("A100_tp2_bs4.json", None),
        ("DeviceType.A100_tp2.json", None),
        ("readme.json", None),
    ],
)
def test_names_of_profiles(name: str, key: tuple[str, int, int] | None) -> None:
    assert key_of(name) == (ProfileKey(*key) if key else None)


def test_the_first_profile_is_named_or_the_least(profiles: Path) -> None:
    assert read_profiles([profiles], None).first == ProfileKey("A100", 1, 1)
    for name in ("DeviceType.V100_tp2_bs1.json", "DeviceType.V100_tp2_bs1", "V100_tp2_bs1"):
        assert read_profiles([profiles], name).first == ProfileKey("V100", 2, 1)
    with pytest.raises(
        InputError, match=r"first_profile=DeviceType.A100_tp1_bs4.json: no such .*did you mean"
    ):
        read_profiles([profiles], "DeviceType.A100_tp1_bs4.json")


def test_several_folders_make_one_set(profiles: Path, tmp_path: Path) -> None:
    whole = read_profiles([profiles], FIRST)
    other = tmp_path / "other"
    other.mkdir()
    for file in sorted(profiles.glob("*V100*")):
        file.rename(other / file.name)
    (other / "notes.json").write_text("no profile")
    both = read_profiles([other, profiles], FIRST)
    assert (both.profiles, both.first) == (whole.profiles, whole.first)
    assert list(both.profiles) == sorted(both.profiles)
    with pytest.raises(InputError, match=r"a second profile of A100 tp 1 batch 1; the other one is"):
        read_profiles([profiles, profiles], FIRST)


@pytest.mark.parametrize("text", ["", "{", '{"model": {}', "[1]", "nothing"])
def test_profiles_that_are_cut_off(profiles: Path, text: str) -> None:
    (profiles / FIRST).write_text(text)
    with pytest.raises(InputError, match=rf"{FIRST}: .*JSON"):
        read_profiles([profiles], FIRST)


def _set(*path: Any) -> Change:
    *keys, last, value = path

    def edit(content: Any) -> None:
        for key in keys:
            content = content[key]
        content[last] = value

    return edit


TIMES = "execution_time"
LAYERS = (TIMES, "layer_compute_total_ms")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (_set(*LAYERS, 1, -0.5), r"layer_compute_total_ms\[1\]=-0\.5: must be a number, 0 to 1e\+12"),
        (_set(*LAYERS, 1, 1e308), r"layer_compute_total_ms\[1\]=1e\+308: must be a number, 0 to 1e\+12"),
        (_set(*LAYERS, [1e-320] * 4), r"all layers take no time; it must be at least 1e-09 ms"),
        (_set(*LAYERS, 1, float("nan")), r"NaN is not a JSON number"),
        (_set(*LAYERS, 1, "3"), r"layer_compute_total_ms\[1\]=3"),
        (_set(*LAYERS, [1.0, 2.0]), r"layer_compute_total_ms has 2 layers, but .* has 4"),
        (_set(*LAYERS, [0.0] * 4), r"all layers take no time"),
        (_set(*LAYERS, {}), r"must be a list with a number a layer"),
        (_set(*LAYERS, []), r"must be a list with a number a layer"),
        (_set("execution_memory", "layer_memory_total_mb", [1] * 5), r"layer_memory_total_mb has 5 layers"),
        (_set("execution_memory", "layer_memory_total_mb", 0, -1), r"layer_memory_total_mb\[0\]=-1"),
        (_set("model", "parameters", "parameters_per_layer_bytes", [1] * 3), r"but .* has 4|has 3 layers"),
        (
            _set("model", "parameters", "parameters_per_layer_bytes", 2, 7),
            r"parameters_per_layer_bytes differ",
        ),
        (_set("execution_memory", None), r"has no object execution_memory; it is no layer profile"),
        (_set(TIMES, "optimizer_time_ms", None), r"optimizer_time_ms=None: must be a number"),
        (lambda content: content[TIMES].pop("forward_backward_time_ms"), r"has no forward_backward_time_ms"),
    ],
)
def test_bad_profiles(profiles: Path, edit: Change, message: str) -> None:
    change(profiles / "DeviceType.V100_tp2_bs1.json", edit)
    with pytest.raises(InputError, match=message):
        read_profiles([profiles], FIRST)


def test_compat_takes_parameters_from_the_first_profile_alone(profiles: Path) -> None:
    path = ("model", "parameters", "parameters_per_layer_bytes")
    change(profiles / "DeviceType.V100_tp2_bs1.json", _set(*path, 2, 7))
    read = read_profiles([profiles], FIRST, compat=True)
    assert read.parameters_bytes == (393216000.0, 202383360.0, 202383360.0, 393220096.0)


def test_a_model_without_parameters_has_no_strict_plan(profiles: Path, tmp_path: Path) -> None:
    for path in profiles.iterdir():
        change(path, _set("model", "parameters", "parameters_per_layer_bytes", [0] * 4))
    problem = problem_of(tmp_path, profiles)
    for planner in ("auto", "exact", "fast"):
        with pytest.raises(InputError, match="parameters_per_layer_bytes are all 0; cost=strict divides"):
            planner_named(planner).plan(problem, "strict", Limits())


def test_folders_without_profiles(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no folder of profiles"):
        read_profiles([tmp_path / "nowhere"], None)
    with pytest.raises(InputError, match=r"no profiles; their files have names like DeviceType.A100_tp2_bs4"):
        read_profiles([tmp_path], None)
    (tmp_path / "DeviceType.A100_tp0_bs4.json").write_text("{}")
    with pytest.raises(InputError, match="tensor degree and batch of a profile must be at least 1"):
        read_profiles([tmp_path], None)


def problem_of(folder: Path, profiles: Path, **options: Any) -> PlanProblem:
    """Eight GPUs, half of them V100, and the profiles of a folder."""
    write_half_and_half(folder / "hosts", folder / "nodes.json", 8)
    cluster = read_cluster(folder / "hosts", folder / "nodes.json", compat=True)
    options = {"gbs": 2, "max_tp": 2, **options}
    return PlanProblem(cluster, read_profiles([profiles], FIRST), ("A100", "V100"), **options)


def test_the_walk_names_a_missing_profile(profiles: Path, tmp_path: Path) -> None:
    (profiles / "DeviceType.V100_tp1_bs2.json").unlink()
    problem = problem_of(tmp_path, profiles, gbs=8, max_batch=4)
    with pytest.raises(InputError, match="no profile of V100 tp 1 batch 2, which the walk asks for"):
        walk(problem, by_first_attempt=False)


def test_the_walk_names_a_type_without_memory_or_order(profiles: Path, tmp_path: Path) -> None:
    problem = problem_of(tmp_path, profiles)
    cluster = problem.cluster
    bare = MixedCluster(cluster.hosts, {"A100": 80.0})
    with pytest.raises(InputError, match="type V100: has hosts but no memory"):
        walk(PlanProblem(bare, problem.profiles, ("A100", "V100")), by_first_attempt=False)
    for order in (("A100",), ("A100", "V100", "V100"), ("A100", "T4")):
        with pytest.raises(
            InputError, match=r"type_order=\[.*\]: must list the types of the hosts, V100, A100"
        ):
            walk(PlanProblem(cluster, problem.profiles, order), by_first_attempt=False)


@pytest.mark.parametrize(
    ("hosts", "options", "message"),
    [
        ((4, 4, 4), {}, r"stage of all 12 GPUs: their number must be a power of two"),
        ((4, 4), {"group_scale": 2}, r"group_scale at most 1, got 2"),
        ((4, 2, 2), {}, r"hosts of one size, but one has 4 GPUs and another 2"),
        ((4, 4), {"gbs": 0}, r"gbs=0: must be"),
        ((4, 4), {"permutation_limit": 0}, r"permutation_limit=0: must be"),
        ((4, 4), {"max_tp": 2**40}, r"max_tp=1099511627776: must be"),
        ((4, 4), {"group_scale": -1}, r"group_scale=-1: must be"),
    ],
)
def test_clusters_and_options_that_the_walk_cannot_start_with(
    profiles: Path, hosts: tuple[int, ...], options: dict[str, int], message: str
) -> None:
    cluster = MixedCluster(
        tuple(Host(f"h{i}", "A100", n, 46.0, 10.0) for i, n in enumerate(hosts)), {"A100": 80}
    )
    problem = PlanProblem(cluster, read_profiles([profiles], FIRST), ("A100",), **options)
    with pytest.raises(InputError, match=message):
        walk(problem, by_first_attempt=False)


SCRIPT = """
import hashlib, sys
from pathlib import Path
from dse.planner.problem.inputs import read_cluster, read_profiles
from dse.planner.problem.problem import PlanProblem
from dse.planner.search.planners.metis import walk
folder = Path(sys.argv[1])
cluster = read_cluster(folder / "hosts", folder / "nodes.json", compat=True)
profiles = read_profiles([folder / "profiles"], "DeviceType.A100_tp1_bs1.json", compat=True)
result = walk(PlanProblem(cluster, profiles, ("A100", "V100"), gbs=2, max_tp=2), by_first_attempt=True)
table = result.table
columns = (table.cost_ms, table.group, table.tp, table.end, table.stage_begin, table.delta)
print(result.count, len(table), hashlib.sha256(b"".join(c.tobytes() for c in columns)).hexdigest())
"""


def test_neither_hash_seeds_nor_orders_of_files_reach_a_result(profiles: Path, tmp_path: Path) -> None:
    problem_of(tmp_path, profiles)
    found = set()
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        line = [sys.executable, "-c", SCRIPT, str(tmp_path)]
        done = subprocess.run(line, env=environment, capture_output=True, text=True, check=True)
        found.add(done.stdout)
        for file in sorted(profiles.iterdir(), reverse=True):  # listed in another order from now on
            file.rename(file.with_suffix(".moved")).rename(file)
    assert len(found) == 1
    assert not found.pop().startswith("0 ")


def test_files_are_read_in_the_order_of_keys(profiles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = read_profiles([profiles], None)
    listed = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda folder: iter(sorted(listed(folder), reverse=True)))
    read = read_profiles([profiles], None)
    assert read == expected
    assert list(read.profiles) == list(expected.profiles)
