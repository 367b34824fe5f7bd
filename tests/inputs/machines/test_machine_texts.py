"""The formats that are text: nvidia-smi's matrix, Slurm's topology.conf, the output of nccl-tests."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dse.base.errors import InputError
from dse.base.plain_data import yaml_data
from dse.inputs.machines import CollectiveTimes, Given, HostTree, Machine, read_machine
from dse.inputs.machines.host_systems import hosts_text, measured_text
from dse.inputs.machines.reduced import reduced

GOLDEN = Path(__file__).parents[2] / "golden"
MATRIX = """\
\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV12\tSYS\tSYS\tPIX\tSYS\t0-31\t0\t\tN/A
GPU1\tNV12\t X \tSYS\tSYS\tPXB\tSYS\t0-31\t0\t\tN/A
GPU2\tSYS\tSYS\t X \tNV12\tSYS\tNODE\t32-63\t1\t\tN/A
GPU3\tSYS\tSYS\tNV12\t X \tSYS\tNODE\t32-63\t1\t\tN/A
NIC0\tPIX\tPXB\tSYS\tSYS\t X \tSYS
NIC1\tSYS\tSYS\tNODE\tNODE\tSYS\t X

Legend:

  X    = Self
  NIC0: mlx5_0
"""


def read(text: str, folder: Path, name: str = "node.txt") -> object:
    path = folder / name
    path.write_text(text)
    return read_machine(path)


def machine(text: str, folder: Path) -> Machine:
    found = read(text, folder)
    assert isinstance(found, Machine)
    return found


def named(found: Machine, kind: str) -> set[tuple[str, str, int]]:
    names = [device.name for device in found.devices]
    return {
        (names[link.ends[0]], names[link.ends[1]], link.count) for link in found.links if link.kind == kind
    }


def test_a_matrix_tells_bridges_and_cpus(tmp_path: Path) -> None:
    found = machine(MATRIX, tmp_path)
    assert Counter(device.kind for device in found.devices) == {"gpu": 4, "nic": 2, "cpu": 2, "bridge": 2}
    assert named(found, "nvlink") == {("gpu0", "gpu1", 12), ("gpu2", "gpu3", 12)}
    assert named(found, "smp") == {("cpu0", "cpu1", 1)}
    assert {device.name: device.socket for device in found.devices if device.kind == "gpu"} == {
        "gpu0": "0",
        "gpu1": "0",
        "gpu2": "1",
        "gpu3": "1",
    }
    pcie = {(one, other) for one, other, _ in named(found, "pcie")}
    assert pcie == {
        *(("cpu0", "pcigpu0"), ("pcigpu0", "pcigpu0.1"), ("pcigpu0.1", "gpu0"), ("pcigpu0.1", "nic0")),
        *(("pcigpu0", "gpu1"), ("cpu1", "gpu2"), ("cpu1", "gpu3"), ("cpu1", "nic1")),
    }


def test_more_nvlinks_than_a_gpu_has_lead_to_switches(tmp_path: Path) -> None:
    names = [f"GPU{gpu}" for gpu in range(8)]
    rows = ["\t".join([one, *("X" if one == other else "NV18" for other in names)]) for one in names]
    found = machine("\t" + "\t".join(names) + "\tCPU Affinity\n" + "\n".join(rows), tmp_path)
    assert named(found, "nvlink") == {(f"gpu{gpu}", "nvswitch", 18) for gpu in range(8)}


def test_rates_and_counts_of_links_that_are_not_published_are_told(tmp_path: Path) -> None:
    names = [f"GPU{gpu}" for gpu in range(4)]
    rows = ["\t".join([one, *("X" if one == other else "NV18" for other in names)]) for one in names]
    found = machine("\t" + "\t".join(names) + "\tCPU Affinity\n" + "\n".join(rows), tmp_path)
    values = {"accelerator": "h100_sxm", "nvlink_gbps": "450", "nvlink_latency_ns": "0"}
    for rate, is_told in (("450", True), ("30", False), ("20", False), ("19", True)):
        given = Given({**values, "nvlink_gbps": rate})
        reduced(found, given, "node.txt")
        words = (
            f"machine.nvlink_gbps is {rate}, the rate of one link and not of a GPU, but one nvlink has 25 "
        )
        told = [note for note in given.taken if note.startswith(words)]
        assert len(told) == is_told
    with pytest.raises(InputError, match="a100_80, which has at most 12 NVLinks, but gpu0 has 18 NVLinks"):
        reduced(found, Given({**values, "accelerator": "a100_80"}), "node.txt")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("NIC1\tSYS", "NIC2\tSYS", "has no row NIC1"),
        ("GPU1\tNV12", "GPU1\tNV13", "GPU0 and GPU1 are NV12, but NV13 the other way"),
        ("\tPXB\tSYS\t0-31", "\tPXX\tSYS\t0-31", "line 3: has 'PXX'"),
        ("NIC0\tPIX\tPXB\tSYS\tSYS\t X \tSYS", "NIC0\tPIX", "line 6: has 1 cells; it must have 6"),
    ],
)
def test_a_mistake_in_a_matrix_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        machine(MATRIX.replace(old, new, 1), tmp_path)


TREE = """\
# two leaves of four below a spine
SwitchName=leaf0 Nodes=gpu[00-03] LinkSpeed=100
SwitchName=leaf1 Nodes=gpu[04-06],gpu07
SwitchName=spine Switches=leaf[0-1]
"""
NODE = {"system": "dgx_h100"}


def tree(text: str, folder: Path) -> HostTree:
    found = read(text, folder, "topology.conf")
    assert isinstance(found, HostTree)
    return found


def test_a_tree_of_equal_leaves_is_a_system(tmp_path: Path) -> None:
    found = tree(TREE, tmp_path)
    assert found.leaves == (
        ("leaf0", ("gpu00", "gpu01", "gpu02", "gpu03")),
        ("leaf1", ("gpu04", "gpu05", "gpu06", "gpu07")),
    )
    with pytest.raises(InputError, match=r"machine\.level2_oversubscription=….*machine\.level2_latency_us=…"):
        hosts_text(found, Given(NODE), Path("x.yaml"), "topology.conf")
    values = {**NODE, "level2_oversubscription": "2", "level2_latency_us": "8"}
    written = yaml_data(hosts_text(found, Given(values), Path("x.yaml"), "topology.conf"), "x.yaml")
    assert (written["accelerator"], written["nodes"], written["npus_per_node"]) == ("h100_sxm", 8, 8)
    assert written["tiers"] == [
        {"name": "NVLink", "bandwidth_gbps": 450, "latency_us": 2},
        {"name": "leaf", "npus": 32, "nics_per_node": 8, "nic_gbit_per_s": 400, "latency_us": 5},
        {"name": "level2", "npus": 64, "oversubscription": 2, "latency_us": 8},
    ]


YAML_TREE = """
- {topology: cpus, flat: true}
- {topology: spare, block: {block_sizes: [2, 4], blocks: [{block: b, nodes: "gpu[00-01]"}]}}
- topology: fabric
  cluster_default: true
  tree:
    switches:
    - {switch: root, children: "leaf[0-1]"}
    - {switch: leaf0, nodes: "gpu[00-03]"}
    - {switch: leaf1, nodes: ["gpu[04-06]", gpu07]}
"""


def test_a_topology_of_yaml_is_that_of_its_lines(tmp_path: Path) -> None:
    found = read(YAML_TREE, tmp_path, "topology.yaml")
    assert isinstance(found, HostTree)
    assert (found.leaves, found.levels) == (tree(TREE, tmp_path).leaves, ((("root", (0, 1)),),))
    assert found.notes == ("topology fabric is read, not cpus, spare",)
    spare = read(YAML_TREE.replace("cluster_default: true", ""), tmp_path, "topology.yaml")
    assert isinstance(spare, HostTree)
    assert (spare.kind, spare.leaves) == ("block", (("b", ("gpu00", "gpu01")),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {topology: a, flat: true}", "has no topology with a tree or a block"),
        ("- {topology: a, tree: 3}", "tree of topology a is 3; it must hold switches or blocks"),
        ("- {topology: a, tree: {switches: [{nodes: n1}]}}", "it must be switch with children or nodes"),
        (
            "- {topology: a, block: {blocks: [{block: b, nodes: 'n[3'}]}}",
            "as a topology.conf: line 1: .*n\\[3",
        ),
    ],
)
def test_a_mistake_in_a_topology_of_yaml_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(text, tmp_path, "topology.yaml")


def test_unequal_leaves_are_islands_of_a_cluster(tmp_path: Path) -> None:
    found = tree(TREE.replace("gpu[04-06],gpu07", "gpu[04-05]"), tmp_path)
    text = hosts_text(found, Given({**NODE, "between_islands_gbps": "50"}), Path("x.yaml"), "topology.conf")
    written = yaml_data(text, "x.yaml")
    assert "# nodes and NICs are those of the system dgx_h100.\n" in text
    assert written["between_islands_gbps"] == 50
    group = {"accelerator": "h100_sxm", "gpus": 8, "intra_gbps": 450, "inter_gbps": 400}
    assert written["nodes"] == [{**group, "count": 4, "island": 0}, {**group, "count": 2, "island": 1}]


def test_blocks_are_domains_below_one_network(tmp_path: Path) -> None:
    found = tree("BlockName=b1 Nodes=n[1-18]\nBlockName=b2 Nodes=n[19-36]\nBlockSizes=18,36\n", tmp_path)
    assert (found.kind, found.hosts) == ("block", 36)
    with pytest.raises(InputError) as error:
        hosts_text(found, Given(), Path("x.yaml"), "topology.conf")
    for key in ("accelerator", "gpus_per_node", "intra_gbps", "nics_per_node", "level2_oversubscription"):
        assert f"machine.{key}=…" in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SwitchName=a Nodes=n[0-3", "is no list of names"),
        ("SwitchName=a Nodes=n[3-1]", "'3-1' in .* is no range"),
        ("SwitchName=a Nodes=n[0-999999999]", "more than 200000 names"),
        ("SwitchName=a Nodes=n0\nSwitchName=b Nodes=n0", "b has n0, which occurs twice"),
        ("SwitchName=a Switches=b", "switch b is not described"),
        ("SwitchName=a Switches=a", "switch a is not described, or contains itself"),
        ("SwitchName=a Nodes=n0 Speed=3", "line 1: .* is no line of a topology.conf"),
        ("BlockName=a Nodes=n0\nSwitchName=b Nodes=n1", "has blocks, but switches"),
    ],
)
def test_a_mistake_in_a_topology_conf_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tree(text, tmp_path)


def table(folder: Path, hosts: int, start_us: float, gbps: float) -> CollectiveTimes:
    """Output of nccl-tests among 16 GPUs whose times are a line."""
    sizes = [2**power for power in range(10, 31)]
    lines = [
        f"#  Rank {rank} Group 0 Pid 1 on node-{rank * hosts // 16} device {rank} [0x1] NVIDIA H100 80GB HBM3"
        for rank in range(16)
    ]
    lines += [f"{size} 1 half sum -1 {start_us + size / gbps / 1e3:.6f} 1 1.9 0" for size in sizes]
    found = read("\n".join(lines), folder, "all_reduce_perf.txt")
    assert isinstance(found, CollectiveTimes)
    return found


def test_times_on_a_line_give_its_start_and_rate(tmp_path: Path) -> None:
    times = table(tmp_path, 1, 30.0, 240.0)
    line = times.line()
    np.testing.assert_allclose([line.start_us, line.gbps], [30, 240], rtol=1e-4)
    assert line.worst_error_pct < 0.01
    text = measured_text(times, Given(), Path("x.yaml"), "all_reduce_perf.txt")
    written = yaml_data(text, "x.yaml")
    assert (written["accelerator"], written["nodes"], written["npus_per_node"]) == ("h100_sxm", 1, 16)
    tier = written["tiers"][0]
    np.testing.assert_allclose(tier["bandwidth_gbps"], 240 * 2 * 15 / 16, rtol=1e-3)
    np.testing.assert_allclose(tier["latency_us"], 30 / 30, rtol=1e-3)


def test_times_between_hosts_ask_for_the_links_inside(tmp_path: Path) -> None:
    times = table(tmp_path, 2, 30.0, 40.0)
    with pytest.raises(InputError, match=r"machine\.intra_gbps=….*machine\.intra_latency_us=…"):
        measured_text(times, Given(), Path("x.yaml"), "all_reduce_perf.txt")
    text = measured_text(
        times, Given({"intra_gbps": "450", "intra_latency_us": "2"}), Path("x.yaml"), "all_reduce_perf.txt"
    )
    written = yaml_data(text, "x.yaml")
    assert [tier["name"] for tier in written["tiers"]] == ["node", "measured"]
    assert (written["nodes"], written["npus_per_node"]) == (2, 8)


def test_recorded_times_of_eight_h100() -> None:
    times = read_machine(GOLDEN / "kernels" / "all_reduce_perf.txt")
    assert isinstance(times, CollectiveTimes)
    assert (times.operation, times.ranks, times.accelerator) == ("all_reduce", 8, "h100_sxm")
    line = times.line()
    assert 15 < line.start_us < 20  # the smallest took 15.6 us
    assert line.mean_error_pct < 15


def test_a_long_name_of_links_is_cut_in_what_is_asked_for() -> None:
    given = Given()
    given.number("link_latency_ns", f"ns of a message over one {'{a: ' * 700}")
    with pytest.raises(InputError) as error:
        given.require("machine.xml")
    assert str(error.value).startswith(
        "machine.xml does not say all that is needed; give machine.link_latency"
    )
    assert len(str(error.value)) < 400
