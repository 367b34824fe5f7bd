"""The other XML: lstopo's objects and matrices, rings of NCCL, and what no reader takes."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.inputs.machines import Given, Machine, read_machine
from dse.inputs.machines.graphs import machine_graph

LSTOPO = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" gp_index="1">
    <object type="Package" os_index="0" gp_index="2">
      <object type="NUMANode" os_index="0" gp_index="3" local_memory="1"/>
      <object type="Bridge" gp_index="10" bridge_type="0-1" depth="0" bridge_pci="0000:[00-05]">
        <object type="Bridge" gp_index="11" bridge_type="1-1" depth="1" bridge_pci="0000:[01-03]"
          pci_busid="0000:00:01.0" pci_type="0604 [1000:c010] [0000:0000] b0" pci_link_speed="31.507692">
          <object type="PCIDev" gp_index="12" pci_busid="0000:02:00.0"
            pci_type="0302 [10de:20b2] [10de:1463] a1" pci_link_speed="31.507692">
            <object type="OSDev" gp_index="13" name="nvml0" subtype="NVML" osdev_type="1"/>
          </object>
          <object type="PCIDev" gp_index="14" pci_busid="0000:03:00.0"
            pci_type="0207 [15b3:101b] [15b3:0008] 00" pci_link_speed="31.507692">
            <object type="OSDev" gp_index="15" name="mlx5_0" osdev_type="3"/>
          </object>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" gp_index="4">
      <object type="Bridge" gp_index="20" bridge_type="0-1" depth="0" bridge_pci="0000:[80-85]">
        <object type="PCIDev" gp_index="21" pci_busid="0000:81:00.0"
          pci_type="0302 [10de:20b2] [10de:1463] a1" pci_link_speed="31.507692">
          <object type="OSDev" gp_index="22" name="nvml1" subtype="NVML" osdev_type="1"/>
        </object>
        <object type="PCIDev" gp_index="23" pci_busid="0000:82:00.0"
          pci_type="0300 [1a03:2000] [1a03:2000] 41" pci_link_speed="0.000000"/>
      </object>
    </object>
  </object>
  <distances2 type="OSDev" nbobjs="2" kind="10" name="NVLinkBandwidth" indexing="gp">
    <indexes length="5">13 22</indexes>
    <u64values length="30">1000000 300000 300000 1000000</u64values>
  </distances2>
</topology>
"""
RINGS = """<graphs version="1">
  <graph id="0" pattern="4" nchannels="2" speedintra="20" speedinter="12" typeintra="NVL" typeinter="PIX">
    <channel><gpu dev="0"/><gpu dev="1"/><gpu dev="2"/></channel>
    <channel><gpu dev="0"/><gpu dev="1"/><gpu dev="2"/></channel>
  </graph>
  <graph id="1" pattern="3" nchannels="1" speedintra="9" speedinter="9" typeintra="NVL" typeinter="PIX">
    <channel><gpu dev="2"/><gpu dev="0"/></channel>
  </graph>
</graphs>
"""


def machine(text: str, folder: Path) -> Machine:
    path = folder / "node.xml"
    path.write_text(text)
    found = read_machine(path)
    assert isinstance(found, Machine)
    return found


def test_lstopo_states_pcie_and_nvlink(tmp_path: Path) -> None:
    found = machine(LSTOPO, tmp_path)
    names = [device.name for device in found.devices]
    assert names == ["gpu0", "gpu1", "cpu0", "pci0", "mlx5_0", "cpu1", "device6"]
    assert {found.devices[gpu].accelerator for gpu in found.gpus} == {"a100_80"}
    links = {(names[link.ends[0]], names[link.ends[1]]): (link.kind, link.gbps) for link in found.links}
    rate = Fraction("31.507692")
    assert links == {
        ("cpu0", "pci0"): ("pcie", rate),
        ("pci0", "gpu0"): ("pcie", rate),
        ("pci0", "mlx5_0"): ("pcie", rate),
        ("cpu1", "gpu1"): ("pcie", rate),
        ("cpu1", "device6"): ("pcie", None),
        ("gpu0", "gpu1"): ("nvlink", 300),
        ("cpu0", "cpu1"): ("smp", None),
    }
    graph, _ = machine_graph(found, Given({"nvlink_latency_ns": "700"}), "node.xml")
    assert (graph.nodes, len(graph), graph.kinds[0].bandwidth_gbps) == (2, 2, 300)


def test_objects_of_a_matrix_may_have_their_type(tmp_path: Path) -> None:
    text = LSTOPO.replace('distances2 type="OSDev"', "distances2hetero").replace(
        "distances2>", "distances2hetero>"
    )
    found = machine(text.replace(">13 22<", ">OSDev:13 OSDev:22<"), tmp_path)
    assert [link.gbps for link in found.links if link.kind == "nvlink"] == [300]


def test_a_matrix_has_switches_and_packages(tmp_path: Path) -> None:
    """As a DGX-2 and a POWER8 server with NVLink have them: rates to NVSwitches, and to the CPU."""
    switch = (
        '<object type="PCIDev" gp_index="{}" pci_busid="0000:8{}:00.0" '
        'pci_type="0680 [10de:1ac2] [10de:0] a1" '
        'pci_link_speed="0.0"/>'
    )
    text = LSTOPO.replace(
        '<object type="PCIDev" gp_index="23"',
        switch.format(30, 5) + switch.format(31, 6) + '<object type="PCIDev" gp_index="23"',
    )
    start, end = text.index("<distances2"), text.index("</topology>")
    matrix = (
        '<distances2hetero nbobjs="5" kind="25" name="NVLinkBandwidth">'
        '<indexes length="1">OSDev:13 OSDev:22 PCIDev:30 </indexes>'
        '<indexes length="1">PCIDev:31 Package:2 </indexes>'
        '<u64values length="1">0 0 25000 50000 20000 0 0 25000 50000 0 25000 25000 0 0 0 </u64values>'
        '<u64values length="1">50000 50000 0 0 0 20000 0 0 0 0 </u64values></distances2hetero>'
    )
    found = machine(text[:start] + matrix + text[end:], tmp_path)
    names = [device.name for device in found.devices]
    nvlinks = {
        (names[link.ends[0]], names[link.ends[1]]): link.gbps for link in found.links if link.kind == "nvlink"
    }
    assert nvlinks == {
        ("gpu0", "nvswitch0"): 25,
        ("gpu0", "nvswitch1"): 50,
        ("gpu0", "cpu0"): 20,
        ("gpu1", "nvswitch0"): 25,
        ("gpu1", "nvswitch1"): 50,
    }
    graph, _ = machine_graph(found, Given({"nvlink_latency_ns": "700"}), "node.xml")
    assert (graph.nodes, len(graph), graph.kinds[0].bandwidth_gbps) == (3, 4, 75)


def test_rings_are_links_one_way(tmp_path: Path) -> None:
    found = machine(RINGS, tmp_path)
    assert [(link.ends, link.count, link.gbps, link.is_one_way) for link in found.links] == [
        ((0, 1), 2, 40, True),
        ((1, 2), 2, 40, True),
        ((2, 0), 2, 40, True),
    ]
    graph, _ = machine_graph(found, Given({"nvlink_latency_ns": "700"}), "graph.xml")
    assert len(graph) == 3


def test_rings_over_nics_do_not_close(tmp_path: Path) -> None:
    text = RINGS.replace("<channel><gpu", '<channel><net dev="0"/><gpu').replace(
        "</channel>", '<net dev="1"/></channel>'
    )
    found = machine(text, tmp_path)
    names = [device.name for device in found.devices]
    assert {(names[link.ends[0]], names[link.ends[1]], link.kind, link.gbps) for link in found.links} == {
        ("net0", "gpu0", "network", 24),
        ("gpu0", "gpu1", "nvlink", 40),
        ("gpu1", "gpu2", "nvlink", 40),
        ("gpu2", "net1", "network", 24),
    }


BOMB = """<!DOCTYPE system [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><system version="&c;"/>"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "its document type declares something"),
        (
            '<!DOCTYPE system [<!ENTITY a SYSTEM "file:///etc/passwd">]><system>&a;</system>',
            "declares something",
        ),
        (
            '<!DOCTYPE system SYSTEM "file:///etc/passwd"><system>&a;</system>',
            "has an entity, &name;",
        ),
        ("<system>" * 300 + "</system>" * 300, "nested deeper than 200 elements"),
        ("<system>" + "<cpu/>" * 300_001 + "</system>", "more than 300000 elements"),
        ("<system><cpu></system>", "malformed XML: mismatched tag"),
        ("<html/>", "is XML of <html>; allowed are <system>, <graphs>, <topology>"),
        ("<graphs/>", "has no ring"),
        (LSTOPO.replace(">13 22<", ">13<"), "has 1 objects and 4 values; it says 2"),
        (LSTOPO.replace("1000000 300000", "1000000 x"), "it must be MB/s between devices"),
        (LSTOPO.replace("0000:81:00.0", "0000:02:00.0"), "'0000:02:00.0' occurs twice"),
    ],
)
def test_hostile_and_wrong_xml_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        machine(text, tmp_path)


def test_a_bomb_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.xml"
    path.write_bytes(('<?xml version="1.0" encoding="UTF-16"?>' + BOMB).encode("utf-16"))
    with pytest.raises(InputError):
        read_machine(path)


def test_other_files_are_refused_with_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello: world\n")
    with pytest.raises(InputError, match="is no description of a machine; allowed are nvidia-smi topo -m"):
        read_machine(path)
