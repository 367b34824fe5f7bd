"""XML of published machines becomes the graphs, systems and rates that their documentation states."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import networkx as nx
import published_machines as published
import pytest

from dse.base.errors import InputError
from dse.base.plain_data import yaml_data
from dse.inputs.accelerators.systems import cluster_file
from dse.inputs.machines import Given, Machine, read_machine
from dse.inputs.machines.graphs import machine_graph
from dse.inputs.machines.systems import system_files
from dse.inputs.networks import LinkGraph

NS = dict.fromkeys(("nvlink_latency_ns",), "700")


def machine(text: str, folder: Path) -> Machine:
    path = folder / "node.xml"
    path.write_text(text)
    found = read_machine(path)
    assert isinstance(found, Machine)
    return found


def graph(text: str, folder: Path, **values: str) -> LinkGraph:
    return machine_graph(machine(text, folder), Given(values), "node.xml")[0]


def sent(found: LinkGraph, gpu: int) -> Fraction:
    """GB/s that leave a node."""
    return sum(
        (
            found.kinds[kind].bandwidth_gbps
            for source, kind in zip(found.sources, found.kind_of, strict=True)
            if source == gpu
        ),
        Fraction(0),
    )


def pairs(found: LinkGraph) -> dict[tuple[int, int], Fraction]:
    links = zip(found.sources.tolist(), found.destinations.tolist(), found.kind_of.tolist(), strict=True)
    return {(source, to): found.kinds[kind].bandwidth_gbps for source, to, kind in links}


def test_a_dgx_1_is_a_hybrid_cube_mesh(tmp_path: Path) -> None:
    found = machine(published.dgx1(), tmp_path)
    nvlinks = {tuple(sorted(link.ends)): link.count for link in found.links if link.kind == "nvlink"}
    assert nvlinks == published.CUBE_MESH
    assert Counter(device.kind for device in found.devices) == {"gpu": 8, "bridge": 4, "nic": 4, "cpu": 2}
    made = graph(published.dgx1(), tmp_path, **NS)
    assert (made.npus, made.nodes, len(made)) == (8, 8, 32)
    assert {gpu: sent(made, gpu) for gpu in range(8)} == dict.fromkeys(range(8), 150)
    assert pairs(made)[0, 3] == 50
    assert pairs(made)[3, 7] == 25
    assert nx.diameter(nx.Graph(pairs(made).keys())) == 2
    assert {kind.latency_ns for kind in made.kinds} == {700}


@pytest.mark.parametrize(
    ("text", "switches", "rates", "name"),
    [
        (published.dgx_a100(), 6, {50}, "dgx_a100"),
        (published.dgx_h100(), 4, {100, 125}, "dgx_h100"),
    ],
)
def test_gpus_behind_nvswitches(tmp_path: Path, text: str, switches: int, rates: set[int], name: str) -> None:
    each = graph(text, tmp_path, switches="each", **NS)
    assert (each.npus, each.nodes, len(each)) == (8, 8 + switches, 2 * 8 * switches)
    assert set(pairs(each).values()) == rates
    merged = graph(text, tmp_path, **NS)
    assert (merged.nodes, len(merged)) == (9, 16)
    shipped = cluster_file(name)
    assert set(pairs(merged).values()) == {shipped.tiers[0].bandwidth_gbps}
    given = Given({**NS, "nodes": "8", "network_latency_ns": "5000"})
    files = system_files(machine(text, tmp_path), given, Path("node.yaml"), "node.xml")
    ((_, written),) = files.items()
    values = yaml_data(written, "node.yaml")
    inside, network = values["tiers"]
    assert (values["accelerator"], values["nodes"], values["npus_per_node"]) == (shipped.accelerator, 8, 8)
    assert inside == {"name": "NVLink", "bandwidth_gbps": shipped.tiers[0].bandwidth_gbps, "latency_us": 1.4}
    assert network["nics_per_node"] == shipped.tiers[1].nics_per_node
    assert network["nic_gbit_per_s"] == shipped.tiers[1].nic_gbit_per_s
    assert f"published of {shipped.accelerator}" in written


def test_the_boards_of_a_dgx_2_are_joined_by_what_the_user_says(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"machine\.trunk_gbps=… \(10\^9 bytes/s .* 2 sets of switches"):
        graph(published.dgx2(), tmp_path, **NS)
    made = graph(published.dgx2(), tmp_path, trunk_gbps="1200", **NS)
    assert (made.npus, made.nodes, len(made)) == (16, 18, 2 * 16 + 2)
    assert {sent(made, gpu) for gpu in range(16)} == {150}
    assert pairs(made)[16, 17] == 6 * 8 * 25  # 2.4 TB/s in both directions


def test_eight_mi300x_are_joined_pair_by_pair(tmp_path: Path) -> None:
    made = graph(published.mi300x(), tmp_path, xgmi_latency_ns="1000")
    assert (made.nodes, len(made)) == (8, 56)
    assert set(pairs(made).values()) == {64}
    given = Given({"xgmi_latency_ns": "2000"})
    files = system_files(machine(published.mi300x(), tmp_path), given, Path("node.yaml"), "node.xml")
    values = yaml_data(files[Path("node.yaml")], "node.yaml")
    shipped = cluster_file("mi300x_platform")
    assert values["tiers"] == [{"name": "InfinityFabric", "bandwidth_gbps": 448, "latency_us": 2}]
    assert values["tiers"][0]["bandwidth_gbps"] == shipped.tiers[0].bandwidth_gbps


def test_bridged_pairs_meet_over_pcie(tmp_path: Path) -> None:
    values = {**NS, "pcie_latency_ns": "500", "smp_latency_ns": "300", "smp_gbps": "40"}
    made = graph(published.a100_pcie(), tmp_path, **values)
    rates = pairs(made)
    assert rates[0, 1] == rates[2, 3] == 300
    assert (0, 2) not in rates
    pcie = Fraction(16) * 16 * Fraction(128, 130) / 8  # 31.5 GB/s: PCIe 4.0 x16
    assert sorted(set(rates.values())) == [pcie, 40, 300]
    assert nx.shortest_path_length(nx.Graph(rates.keys()), 0, 2) == 5  # bridge, CPU, CPU, bridge


def test_machines_joined_by_their_nics(tmp_path: Path) -> None:
    from dse.inputs.machines.graphs import copies

    values = {**NS, "pcie_latency_ns": "500", "smp_latency_ns": "300", "smp_gbps": "20"}
    given = Given({**values, "network_latency_ns": "2000"})
    whole = copies(machine(published.dgx1(), tmp_path), 2, given, "node.xml")
    made = machine_graph(whole, given, "node.xml")[0]
    assert made.npus == 16
    assert Counter(pairs(made).values())[Fraction(25, 2)] == 2 * 2 * 4  # 4 NICs of 100 Gb/s each
    found = nx.Graph(pairs(made).keys())
    assert nx.shortest_path_length(found, 0, 8) == 4  # bridge, network, bridge


def test_all_that_is_missing_is_asked_for_at_once(tmp_path: Path) -> None:
    text = published.a100_pcie().replace(' link_width="16"', "").replace("0x20b5", "0xffff")
    with pytest.raises(InputError) as error:
        system_files(machine(text, tmp_path), Given(), Path("node.yaml"), "node.xml")
    for key in (
        "accelerator",
        "pcie_gbps",
        "pcie_latency_ns",
        "nvlink_latency_ns",
        "smp_gbps",
        "smp_latency_ns",
    ):
        assert f"machine.{key}=…" in str(error.value)
    assert "nvlink_gbps" not in str(error.value)  # that of sm_80 is published


def test_a_key_without_effect_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"machine\.nvlink_gbp has no effect .* did you mean 'nvlink_gbps'"):
        graph(published.dgx1(), tmp_path, nvlink_gbp="1", **NS)


def test_a_given_rate_goes_before_a_published_one_and_after_a_stated_one(tmp_path: Path) -> None:
    assert set(pairs(graph(published.dgx1(), tmp_path, nvlink_gbps="20", **NS)).values()) == {20, 40}
    values = {"pcie_latency_ns": "500", "smp_latency_ns": "300", "smp_gbps": "40", "pcie_gbps": "1"}
    with pytest.raises(InputError, match=r"machine\.pcie_gbps has no effect"):
        graph(published.a100_pcie(), tmp_path, **values, **NS)


def test_ends_of_a_link_must_agree(tmp_path: Path) -> None:
    text = published.dgx1().replace('target="0000:11:00.0" count="1"', 'target="0000:11:00.0" count="3"', 1)
    with pytest.raises(InputError, match="gpu0 has 3 links to gpu1, which has 1 back"):
        machine(text, tmp_path)
