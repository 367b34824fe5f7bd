"""The stand-alone simulators: figures of recorded runs, report, deadlocks, errors as the Python readers'."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from dse.base.errors import InputError
from dse.inputs.systems import read_system
from dse.simulation.simulators import NativeSimulator
from dse.simulation.validation import CRASHED, REFERENCES, Case, check_standalone, load_cases
from dse.simulation.validation.cli_cases import BINARIES
from dse.simulation.validation.folders import simulator_options
from dse.simulation.validation.sources import unpack
from dse.simulation.workloads import read_groups
from tests.project.engine_build import build_lock

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/golden"
MOST_RANKS = 64
LINE = re.compile(
    r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] \[(simulator|workload|statistics)\] \[(info|critical)\] (.+)"
)

GOOD_SYSTEM = {
    "scheduling-policy": "LIFO",
    "preferred-dataset-splits": 4,
    "collective-optimization": "baseline",
    "all-reduce-implementation": ["ring"],
}
GOOD_NETWORK = "topology: [Ring]\nnpus_count: [4]\nbandwidth: [50]\nlatency: [500]\n"
GOOD_MEMORY = {"memory-type": "NO_MEMORY_EXPANSION"}


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def binaries() -> Path:
    """The folder of the simulators, as `make build-astrasim` leaves it."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    cmake, build = shutil.which("cmake", path=beside), ROOT / "build" / str(sys.implementation.cache_tag)
    if cmake is None or not (build / "CMakeCache.txt").exists():
        pytest.skip("cmake or the engine's build is missing; `make install` brings both")
    with build_lock():
        line = [cmake, "--build", build, "--parallel", "2", "--target", *BINARIES.values()]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "build/bin"


def run(binary: Path, *options: str | Path) -> Done:
    done = subprocess.run(
        [binary, *map(str, options)], capture_output=True, text=True, check=False, timeout=120
    )
    return Done(done.returncode, done.stdout, done.stderr)


def error_of(binary: Path, *options: str | Path) -> str:
    """The one line of a user error, after checking that it is one line and nothing else."""
    done = run(binary, *options)
    assert done.code == 2, done
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    return done.err.removeprefix("error: ").rstrip("\n")


def recorded(name: str) -> Iterator[Case]:
    with load_cases(GOLDEN / name) as cases:
        yield from cases


def chosen() -> list[Case]:
    """Every kind of case that is quick: pipelines, sharded weights, deadlocks, both models, meshes."""
    points = [case for case in recorded("points.jsonl") if len(case.expected.ranks or ()) <= MOST_RANKS]
    collectives = list(recorded("collectives.jsonl"))
    meshes = [case for case in collectives if "mesh" in case.name.lower()]
    return [*points, *collectives[::6], *meshes[:6]]


@pytest.mark.parametrize("case", {case.name: case for case in chosen()}.values(), ids=lambda case: case.name)
def test_points_and_collectives_print_the_recorded_figures(binaries: Path, case: Case) -> None:
    assert check_standalone(case, binaries, NativeSimulator()) == []


def test_case_folders_print_the_recorded_figures(binaries: Path) -> None:
    with load_cases(GOLDEN / "graphs.tar.gz") as cases:
        assert {case.expected.status for case in cases} == {"ok", "deadlock"}
        assert [m.describe() for c in cases for m in check_standalone(c, binaries, NativeSimulator())] == []


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """The recorded case folders, by how they end; do not change them."""
    folder = tmp_path_factory.mktemp("cases")
    unpack(GOLDEN / "graphs.tar.gz", folder)
    by_status: dict[str, list[Path]] = {"ok": [], "deadlock": []}
    for notes in sorted(folder.rglob("case.json")):
        content = json.loads(notes.read_text())
        if content.get("network_model", "congestion_unaware") == "congestion_unaware":
            by_status[content["status"]].append(notes.parent)
    return by_status


def test_report_lines(binaries: Path, folders: dict[str, list[Path]]) -> None:
    done = run(binaries / "astrasim-unaware", *simulator_options(folders["ok"][0]))
    assert (done.code, done.err) == (0, "")
    matches = [LINE.fullmatch(line) for line in done.out.splitlines()]
    assert all(matches)
    finished = [
        (int(found[2]), int(found[1]))
        for found in re.finditer(
            r"sys\[(\d+)\] finished, (\d+) cycles, exposed communication \d+ cycles\.$", done.out, re.M
        )
    ]
    assert finished == sorted(finished)
    assert len(finished) == len(list(folders["ok"][0].glob("*.et")))
    assert "$" not in done.out
    assert re.search(
        r"\[statistics\] \[info\] sys\[0\], Average compute utilization: \d+\.\d{3}%$", done.out, re.M
    )


def test_a_deadlock_names_what_blocks_every_rank(binaries: Path, folders: dict[str, list[Path]]) -> None:
    for folder in folders["deadlock"]:
        done = run(binaries / "astrasim-unaware", *simulator_options(folder))
        assert (done.code, done.err) == (3, "")
        finished = set(re.findall(r"sys\[(\d+)\] finished", done.out))
        blocked = set(re.findall(r"\[critical\] sys\[(\d+)\] never finishes: .* node \d+ .*: it", done.out))
        ranks = {str(rank) for rank in range(len(list(folder.glob("*.et"))))}
        assert finished | blocked == ranks
        assert not finished & blocked


def test_options_in_two_words_are_the_same(binaries: Path, folders: dict[str, list[Path]]) -> None:
    options = simulator_options(folders["ok"][0])
    words = [word for option in options for word in option.split("=", 1)]
    lines = [
        [line.split("] ", 1)[1] for line in run(binaries / "astrasim-unaware", *form).out.splitlines()]
        for form in (options, words)
    ]
    assert lines[0] == lines[1] != []


def test_help_lists_every_option(binaries: Path) -> None:
    for model in BINARIES.values():
        done = run(binaries / model, "--help")
        assert (done.code, done.err) == (0, "")
        for option in ("--workload-configuration", "--logging-folder", "--comm-scale", "--reference"):
            assert option in done.out


@pytest.mark.parametrize("reference", REFERENCES)
def test_version_and_report_name_the_reference(
    binaries: Path, folders: dict[str, list[Path]], reference: str
) -> None:
    binary = binaries / "astrasim-unaware"
    words = f"computes what {reference} computes"
    done = run(binary, "--version", f"--reference={reference}")
    assert (done.code, done.out) == (0, f"astrasim-unaware of dse, which {words}\n")
    report = run(binary, *simulator_options(folders["ok"][0]), f"--reference={reference}").out
    assert report.splitlines()[0].endswith(f"[simulator] [info] {words}")


def test_custom_collectives_are_found_from_the_working_folder_and_beside_the_system(
    binaries: Path, tmp_path: Path
) -> None:
    unpack(GOLDEN / "reference_2026" / "rules.tar.gz", tmp_path)
    folder = tmp_path / "rules" / "custom-per-node"
    options = [*simulator_options(folder), "--reference=astra-sim-2026-03"]
    for place in (folder, tmp_path):
        done = subprocess.run(
            [binaries / "astrasim-unaware", *options], cwd=place, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.count(" finished, 133199 cycles") == 8


def test_what_astra_sim_of_2026_says_is_said(binaries: Path) -> None:
    """Every figure of its logs, the overlap and ranks with CPU operations among them."""
    simulator = NativeSimulator(reference="astra-sim-2026-03")
    undefined = ("rules/five-dims", "rules/grp4-doubleBinaryTree-AR")
    for name, count in (("rules.tar.gz", 98), ("stage_2026.tar.gz", 1)):
        with load_cases(GOLDEN / "reference_2026" / name) as cases:
            assert len(cases) == count
            compared = [c for c in cases if c.expected.status != CRASHED and c.name not in undefined]
            assert [m.describe() for c in compared for m in check_standalone(c, binaries, simulator)] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "option --workload-configuration is missing; it is required"),
        (
            ["--workload-config=x"],
            "unknown option --workload-config; did you mean '--workload-configuration'?",
        ),
        (["trace"], "unexpected argument 'trace'; see --help"),
        (["--system-configuration"], "option --system-configuration has no value"),
        (["--comm-scale=1", "--comm-scale=1"], "option --comm-scale is given twice"),
        (
            ["--num-queues-per-dim=0"],
            "option --num-queues-per-dim has the value '0'; it must be an integer from 1 to 2147483647",
        ),
        (
            ["--rendezvous-protocol", "on"],
            "option --rendezvous-protocol has the value 'on'; it must be true or false",
        ),
        (
            ["--reference=2026"],
            "option --reference has the value '2026'; it must be astra-sim-2025-04 or astra-sim-2026-03",
        ),
        (
            ["--injection-scale=-1"],
            "option --injection-scale has the value '-1'; it must be a number of at least 0",
        ),
    ],
)
def test_wrong_options(binaries: Path, options: list[str], message: str) -> None:
    assert error_of(binaries / "astrasim-unaware", *options) == message


def write_files(folder: Path, name: str, content: str) -> list[str]:
    """Write a system of which one file has another content; return the options."""
    files = {
        "system.json": json.dumps(GOOD_SYSTEM),
        "network.yml": GOOD_NETWORK,
        "remote_memory.json": json.dumps(GOOD_MEMORY),
        "groups.json": "{}",
    }
    for file, text in {**files, name: content}.items():
        (folder / file).write_text(text)
    return [
        f"--workload-configuration={folder / 'trace'}",
        f"--system-configuration={folder / 'system.json'}",
        f"--network-configuration={folder / 'network.yml'}",
        f"--remote-memory-configuration={folder / 'remote_memory.json'}",
        f"--comm-group-configuration={folder / 'groups.json'}",
    ]


def read_in_python(folder: Path) -> None:
    read_groups(folder / "groups.json")
    read_system(
        folder / "system.json",
        folder / "network.yml",
        folder / "remote_memory.json",
        name="x",
        network_model="congestion_unaware",
    )


def system_with(**changes: object) -> str:
    return json.dumps({**GOOD_SYSTEM, **{key.replace("_", "-"): value for key, value in changes.items()}})


def network_with(old: str, new: str) -> str:
    assert old in GOOD_NETWORK
    return GOOD_NETWORK.replace(old, new)


WRONG_FILES = [
    ("system.json", "[]"),
    ("system.json", system_with(peak_pref=1)),
    ("system.json", system_with(zzz=1)),
    ("system.json", '{"scheduling-policy": "LIFO"}'),
    ("system.json", system_with(scheduling_policy="LIF")),
    ("system.json", system_with(scheduling_policy=1)),
    ("system.json", system_with(endpoint_delay=-3)),
    ("system.json", system_with(endpoint_delay="1")),
    ("system.json", system_with(endpoint_delay=[1, {"a": None}])),
    ("system.json", system_with(preferred_dataset_splits=0)),
    ("system.json", system_with(preferred_dataset_splits=True)),
    ("system.json", system_with(active_chunks_per_dimension=2**31)),
    ("system.json", system_with(active_chunks_per_dimension=10**30)),
    ("system.json", system_with(collective_optimization="basline")),
    ("system.json", system_with(roofline_enabled=False)),
    ("system.json", system_with(roofline_enabled=1)),
    ("system.json", system_with(roofline_enabled=1, peak_perf=0)),
    ("system.json", system_with(roofline_enabled=1, peak_perf=1)),
    ("system.json", system_with(peak_perf=-1)),
    ("system.json", system_with(model_shared_bus=1)),
    ("system.json", system_with(local_mem_trace_filename="")),
    ("system.json", system_with(all_reduce_implementation=["rng"])),
    ("system.json", system_with(all_reduce_implementation=["direct01"])),
    ("system.json", system_with(all_reduce_implementation=["ring", "ring"])),
    ("system.json", system_with(all_reduce_implementation="ring")),
    ("system.json", system_with(all_reduce_implementation_chakra=["x"])),
    ("system.json", system_with(all_reduce_implementation_custom=["x", "y"])),
    ("system.json", system_with(per_node_custom_implementation="")),
    ("network.yml", network_with("topology", "topologie")),
    ("network.yml", network_with("[Ring]", "Ring")),
    ("network.yml", network_with("[Ring]", "[Rng]")),
    ("network.yml", network_with("[Ring]", "[Ri-ng]")),
    ("network.yml", network_with("[4]", "[4, 4]")),
    ("network.yml", network_with("[4]", "[4.0]")),
    ("network.yml", network_with("[4]", "[1]")),
    ("network.yml", network_with("[4]", "[[4]]")),
    ("network.yml", network_with("[50]", "[fast]")),
    ("network.yml", network_with("[Ring]", "[Mesh2D]")),
    ("network.yml", network_with("[Ring]", "[Mesh2D]\nshape: [[3, 2]]")),
    ("network.yml", network_with("[Ring]", "[Ring]\nshape: [[4]]")),
    ("network.yml", network_with("[Ring]", "[Ring]\nshape: [4]")),
    ("network.yml", network_with("[Ring]", "[Ring]\nrouting: ecmp")),
    ("network.yml", network_with("[Ring]", "[Ring]\nrouting: [a, b]")),
    ("network.yml", network_with("[Ring]", "[Ring]\nfile: x.csv")),
    ("network.yml", network_with("[Ring]", "[Ring]\nroutes: x.csv")),
    ("network.yml", network_with("[Ring]", "[Graph]")),
    ("network.yml", "topology: []\nnpus_count: []\nbandwidth: []\nlatency: []\n"),
    ("remote_memory.json", "{}"),
    ("remote_memory.json", json.dumps({"memory-type": "PER_NODE_MEMORY_EXPANSION"})),
    ("remote_memory.json", json.dumps({"memory-type": "MEMORY"})),
    ("remote_memory.json", json.dumps({"memory-type": "MEMORY_POOL", "remote-mem-bw": 0})),
    ("remote_memory.json", json.dumps({**GOOD_MEMORY, "num-nodes": 0})),
    ("groups.json", '{"0": [0, 1, 0]}'),
    ("groups.json", '{"0": []}'),
]


@pytest.mark.parametrize(("name", "content"), WRONG_FILES)
def test_wrong_files_give_the_message_of_the_python_readers(
    binaries: Path, tmp_path: Path, name: str, content: str
) -> None:
    options = write_files(tmp_path, name, content)
    with pytest.raises(InputError) as expected:
        read_in_python(tmp_path)
    assert error_of(binaries / "astrasim-unaware", *options) == str(expected.value)


def test_a_missing_trace_is_named(binaries: Path, tmp_path: Path) -> None:
    options = write_files(tmp_path, "groups.json", "{}")
    message = f"{tmp_path / 'trace.0.et'}: cannot be read: No such file or directory"
    assert error_of(binaries / "astrasim-aware", *options) == message
