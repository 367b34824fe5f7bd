"""`dse system show`: drawings, refusals that name keys, and files that other commands take."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
from command_lines import error_of, run_ok

_PUBLISHED = Path(__file__).parents[1] / "inputs" / "machines" / "published_machines.py"
GOLDEN = Path(__file__).parents[1] / "golden"
NVLINK = "machine.nvlink_latency_ns=700"


def document(folder: Path, name: str) -> str:
    """Write the XML of a published machine; return the name of the file."""
    made: Callable[[], str] = runpy.run_path(str(_PUBLISHED))[name]
    (folder / f"{name}.xml").write_text(made())
    return f"{name}.xml"


def test_a_drawing_has_links_neighbours_and_the_pcie_tree(tmp_path: Path) -> None:
    out = run_ok("system", "show", document(tmp_path, "dgx1"), cwd=tmp_path).out
    assert out.startswith("dgx1: NCCL topology: 8 GPUs, 2 CPUs, 4 bridges, 4 NICs (v100_32)\n")
    assert "nvlink     16     24  25           ?   see below\n" in out
    assert "gpu0   150  gpu1, gpu2, gpu3 x2, gpu4 x2\n" in out
    assert "cpu1\n  pci2\n    gpu4\n    gpu5\n    mlx5_2  100 Gb/s\n" in out
    assert "one nvlink has 25 GB/s in one direction: published of v100_32" in out
    assert "machine.smp_gbps" in out.splitlines()[-1]


def test_nothing_is_written_until_all_is_said(tmp_path: Path) -> None:
    name = document(tmp_path, "dgx_h100")
    assert error_of("system", "show", name, "-o", "node.yaml", cwd=tmp_path) == (
        f"{name} does not say all that is needed; give machine.nvlink_latency_ns=… (ns of a message over one "
        "nvlink)"
    )
    assert not (tmp_path / "node.yaml").exists()


def test_a_node_behind_switches_is_a_system_for_a_sweep(tmp_path: Path) -> None:
    name = document(tmp_path, "dgx_h100")
    values = (NVLINK, "machine.nodes=2", "machine.network_latency_ns=5000")
    done = run_ok("system", "show", name, *values, "-o", "node.yaml", cwd=tmp_path)
    assert "note: wrote node.yaml" in done.err
    out = run_ok(
        "sweep", "system=node.yaml", "model=tiny", "space.sp=[1]", "executor=local", cwd=tmp_path
    ).out
    assert "results/tiny-node" in out
    shown = run_ok("system", "show", "node.yaml", cwd=tmp_path).out
    assert shown.startswith("node: 16 h100_sxm NPUs of 989.4 TFLOPS")
    assert "network    16              50    5\n" in shown


def test_a_cube_mesh_is_a_system_with_a_graph_for_points_and_schedules(tmp_path: Path) -> None:
    name = document(tmp_path, "dgx1")
    done = run_ok("system", "show", name, NVLINK, "-o", "node.yaml", cwd=tmp_path)
    assert "note: wrote node.csv" in done.err
    point = ("model=tiny", "strategy.dp=4", "strategy.tp=2", "format=json")
    answer = json.loads(run_ok("point", "system=node.yaml", *point, cwd=tmp_path).out)
    assert answer["status"] == "ok"
    assert "node.csv: 8 nodes, 32 directed links" in run_ok("system", "show", "node.yaml", cwd=tmp_path).out
    run_ok("system", "show", name, NVLINK, "-o", "links.csv", cwd=tmp_path)
    assert (tmp_path / "links.csv").read_bytes() == (tmp_path / "node.csv").read_bytes()
    made = run_ok("synthesize", "topology=links.csv", "collective=all_gather", "-o", "made", cwd=tmp_path)
    assert "links: 8 NPUs, 32 links" in made.out
    run_ok("schedule", "made", cwd=tmp_path)


def test_a_system_and_its_graph_are_used_from_anywhere_and_moved(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    name = document(tmp_path, "dgx1")
    done = run_ok("system", "show", name, NVLINK, "-o", "made/node.yaml", cwd=tmp_path)
    assert "its step as one micro-batch unless model.micro_batches=N" in done.err
    (tmp_path / "made").rename(tmp_path / "moved")
    for folder, path in ((tmp_path, "moved/node.yaml"), (tmp_path / "moved", "node.yaml")):
        out = run_ok("system", "show", path, cwd=folder).out
        assert "node.csv: 8 nodes, 32 directed links" in out
        assert f"Graph {Path(path).with_suffix('.csv')}     8  of its links" in out


def test_islands_of_slurm_are_a_cluster_for_a_plan(tmp_path: Path) -> None:
    (tmp_path / "system").mkdir()  # the name of the folder says nothing
    (tmp_path / "topology.conf").write_text(
        "SwitchName=a Nodes=n[0-1]\nSwitchName=b Nodes=n2\nSwitchName=c Switches=a,b\n"
    )
    values = ("machine.system=dgx_a100", "machine.between_islands_gbps=100")
    run_ok("system", "show", "topology.conf", *values, "-o", "system/mixed.yaml", cwd=tmp_path)
    out = run_ok("system", "show", "system/mixed.yaml", cwd=tmp_path).out
    assert out.startswith("mixed: 24 GPUs, a cluster for dse plan\n")
    run_ok("plan", "cluster=system/mixed.yaml", "model=megatron_1.7b", "gbs=64", "time_limit=5", cwd=tmp_path)


def test_a_node_and_a_tree_are_joined_in_a_cluster(tmp_path: Path) -> None:
    name = document(tmp_path, "dgx_a100")
    run_ok("system", "show", name, "as=cluster", "machine.nodes=4", "-o", "equal.yaml", cwd=tmp_path)
    assert "a100_80      4          8            300             200       0" in (
        run_ok("system", "show", "equal.yaml", cwd=tmp_path).out
    )
    values = (NVLINK, "machine.nodes=2", "machine.network_latency_ns=5000")
    run_ok("system", "show", name, *values, "-o", "node.yaml", cwd=tmp_path)
    (tmp_path / "topology.conf").write_text("SwitchName=a Nodes=n[0-3]\n")
    run_ok("system", "show", "topology.conf", "machine.system=node.yaml", "-o", "all.yaml", cwd=tmp_path)
    out = run_ok("system", "show", "all.yaml", cwd=tmp_path).out
    assert out.startswith("all: 32 a100_80 NPUs")
    for system, message in (
        ("dgx", "machine.system is 'dgx'; allowed are "),
        ("torus_4x4", "machine.system=torus_4x4: has no tiers; a node is one of a system with tiers"),
    ):
        refused = error_of(
            "system", "show", "topology.conf", f"machine.system={system}", "-o", "x.yaml", cwd=tmp_path
        )
        assert refused.startswith(message)


def test_nothing_is_written_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text(
        "SwitchName=a Nodes=n[0-1]\nSwitchName=b Nodes=n[2-3]\nSwitchName=c Switches=a,b\n"
    )
    keys = ("machine.system=dgx_h100", "machine.level2_oversubscription=0.5", "machine.level2_latency_us=1")
    assert error_of("system", "show", "topology.conf", *keys, "-o", "x.yaml", cwd=tmp_path) == (
        "-o x.yaml would hold what cannot be used: tier level2: oversubscription is 0.5; "
        "it must be at least 1"
    )
    assert not (tmp_path / "x.yaml").exists()


@pytest.mark.parametrize("command", [("system", "show"), ("schedule",)])
def test_a_document_that_does_not_exist_is_no_other_kind_of_mistake(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    for name in ("node.xml", "results/node.txt"):
        message = error_of(*command, name, cwd=tmp_path)
        assert message.startswith(f"{name}: ")
        assert (
            message.lower()
            .partition(": ")[2]
            .endswith(("no such file or directory", "no such file or folder"))
        )


def test_a_file_of_another_key_is_told(tmp_path: Path) -> None:
    (tmp_path / "system.yaml").write_text("tiers: []\n")
    (tmp_path / "cluster.yaml").write_text("nodes: []\n")
    run_ok("system", "show", document(tmp_path, "mi300x"), "-o", "node.json", cwd=tmp_path)
    collective = "collective=all_gather"
    for arguments, message in (
        (("plan", "cluster=system.yaml", "model=tiny"), "system.yaml: is a system, which system= of "),
        (
            ("point", "system=cluster.yaml", "model=tiny"),
            "system=cluster.yaml: is a cluster, which cluster= ",
        ),
        (("point", "system=node.json", "model=tiny"), "system=node.json: is a document of a machine; dse "),
        (("synthesize", "topology=system.yaml", collective), "topology=system.yaml: is a system, which "),
        (
            ("synthesize", "topology=node.json", collective),
            "topology=node.json: is a document of a machine; dse system show node.json -o FILE.csv writes",
        ),
    ):
        assert error_of(*arguments, cwd=tmp_path).startswith(message)


def test_measured_links_are_a_system(tmp_path: Path) -> None:
    table = GOLDEN / "kernels" / "all_reduce_perf.txt"
    out = run_ok("system", "show", table, "-o", "measured.yaml", cwd=tmp_path).out
    assert "nccl-tests: all_reduce among 8 GPUs of h100_sxm on 1 host" in out
    run_ok("point", "system=measured.yaml", "model=tiny", "strategy.dp=8", cwd=tmp_path)


def test_infragraph_is_written_and_read(tmp_path: Path) -> None:
    run_ok("system", "show", document(tmp_path, "mi300x"), "-o", "node.json", cwd=tmp_path)
    out = run_ok("system", "show", "node.json", cwd=tmp_path).out
    assert "8 GPUs, 2 CPUs, 8 bridges (mi300x)" in out
    run_ok("system", "show", "node.json", "as=infragraph", "-o", "again.yaml", cwd=tmp_path)
    run_ok("system", "show", "again.yaml", "machine.xgmi_latency_ns=900", "-o", "node.csv", cwd=tmp_path)
    assert (tmp_path / "node.csv").read_text().splitlines()[2] == "0,1,900,64"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("draw", "dgx_h100"), "system is 'draw'; allowed are show"),
        (("show", "dgx_h1000"), "dgx_h1000"),
        (("show", "dgx_h100", "-o", "x.yaml"), "-o: dgx_h100 is a system, cluster or graph already"),
        (("show", "node.xml", "as=graph"), "as says what -o writes; give both"),
        (
            ("show", "node.xml", "-o", "x.svg"),
            "-o is 'x.svg'; its ending must be one of .csv, .json, .yaml, .yml",
        ),
        (("show", "node.xml", "machine.nvlnk_gbps=3"), "machine.nvlnk_gbps has no effect"),
        (("show", "node.xml", "machine.nvlink_gbps=fast"), "machine.nvlink_gbps"),
        (
            ("show", "node.xml", "machine.nodes=0", "-o", "x.csv"),
            "machine.nodes is '0'; it must be a whole number",
        ),
        (
            ("show", "node.xml", "machine.switches=one", "-o", "x.csv"),
            "machine.switches is 'one'; allowed are",
        ),
        (
            ("show", "node.xml", "machine.links=some", "-o", "x.csv"),
            "machine.links is 'some'; allowed are fabric",
        ),
        (("show", "absent.xml"), "absent.xml"),
    ],
)
def test_wrong_words_are_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    document(tmp_path, "dgx1")
    (tmp_path / "dgx1.xml").rename(tmp_path / "node.xml")
    assert message in error_of("system", *arguments, cwd=tmp_path)


def test_names_are_drawn(tmp_path: Path) -> None:
    assert "NVLink" in run_ok("system", "show", "dgx_h100", cwd=tmp_path).out
    assert "a cluster for dse plan" in run_ok("system", "show", "h100_a100", cwd=tmp_path).out
    assert "Ring" in run_ok("system", "show", "torus_4x4", cwd=tmp_path).out
    graph = GOLDEN / "topologies" / "randhet_4_4_1_500_50.csv"
    assert "16 nodes, 64 directed links" in run_ok("system", "show", graph, cwd=tmp_path).out
