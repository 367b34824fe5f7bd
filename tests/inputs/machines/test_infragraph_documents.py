"""InfraGraph: every blueprint of its package read and written back equal, and expanded as it expands them."""

from __future__ import annotations

import importlib
import inspect
import itertools
import typing
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import published_machines as published
import pytest

from dse.base.errors import InputError
from dse.base.plain_data import json_data, yaml_data
from dse.inputs.machines import Given, Machine, read_machine
from dse.inputs.machines.graphs import machine_graph
from dse.inputs.machines.infragraph import infragraph_data, infragraph_text, infrastructure_of
from dse.inputs.machines.infragraph_parts import infragraph_machine
from dse.inputs.machines.written import infragraph_of, written_files

NEEDED = "InfraGraph's package judges these: make arbiters"


def package() -> Any:
    """The package, or a skip that says how to get it."""
    return pytest.importorskip("infragraph.infragraph_service", reason=NEEDED)


def blueprints() -> Iterator[tuple[str, Any]]:
    """Every class of the package's blueprints, with every variant that its arguments list."""
    import infragraph
    from infragraph.blueprints.devices.generic.generic_switch import Switch
    from infragraph.blueprints.devices.generic.server import Server

    root = Path(infragraph.__file__).parent
    sizes = {"levels": 2, "a": 4, "p": 2, "h": 2, "order": 2, "server_count": 4}
    for path in sorted((root / "blueprints").rglob("*.py")):
        module = importlib.import_module(".".join(path.relative_to(root.parent).with_suffix("").parts))
        for name, kind in vars(module).items():
            if not inspect.isclass(kind) or kind.__module__ != module.__name__:
                continue
            listed = {
                key: typing.get_args(given.annotation)
                for key, given in inspect.signature(kind.__init__).parameters.items()
                if typing.get_origin(given.annotation) is typing.Literal
            }
            own: dict[str, Any] = {}
            if "fabrics" in path.parts:
                parts = {"switch": Switch(16), "host": Server(1), "server": Server(1), "bandwidth": None}
                rates = {"SingleTierFabric": 100, "ClosFatTreeFabric": [100, 200]}
                every = {**sizes, **parts, "bandwidth": rates.get(name)}
                own = {key: every[key] for key in list(inspect.signature(kind.__init__).parameters)[1:]}
            for chosen in itertools.product(*listed.values()):
                yield f"{name} {chosen}", kind(**own, **dict(zip(listed, chosen, strict=True)))


def whole(blueprint: Any) -> Any:
    """A blueprint as an infrastructure, which a device is not."""
    import infragraph

    if isinstance(blueprint, infragraph.Infrastructure):
        return blueprint
    made = infragraph.Api().infrastructure()
    made.devices.append(blueprint)
    made.instances.add(name=blueprint.name, device=blueprint.name, count=1)
    return made


def expanded(document: Any) -> tuple[set[str], dict[frozenset[str], str]]:
    """The nodes and links of a document as the package expands it."""
    service = package().InfraGraphService()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parts that no edge joins
        service.set_graph(document)
    graph = service.get_networkx_graph()
    links = {frozenset(ends): data["link"] for *ends, data in graph.edges(data=True)}
    return set(graph.nodes), links


def ours(machine: Machine) -> tuple[set[str], dict[frozenset[str], str]]:
    names = [device.name for device in machine.devices]
    return set(names), {frozenset(names[end] for end in link.ends): link.kind for link in machine.links}


@pytest.mark.slow
def test_every_blueprint_is_written_back_equal_and_expanded_alike() -> None:
    package()
    import infragraph

    seen = []
    for name, blueprint in blueprints():
        for made in (blueprint, whole(blueprint)):
            data = yaml_data(made.serialize("yaml"), name)
            document = infrastructure_of(data, name)
            assert infragraph_data(document) == data, name
            back = infragraph.Infrastructure() if "devices" in data else infragraph.Device()
            back.deserialize(infragraph_text(document, is_json="devices" in data))
            assert back.serialize("dict") == made.serialize("dict"), name
        machine = infragraph_machine(document, name, "x")
        assert ours(machine) == expanded(whole(blueprint)), name
        seen.append(name)
    assert len(seen) >= 51


def test_devices_in_devices_are_expanded_alike() -> None:
    package()
    import infragraph
    from infragraph.blueprints.devices.common.transceiver.qsfp import QSFP
    from infragraph.blueprints.devices.nvidia.cx5 import Cx5
    from infragraph.blueprints.devices.nvidia.dgx import NvidiaDGX

    transceiver = QSFP()
    nic = Cx5(transceiver=transceiver)
    made = infragraph.Api().infrastructure()
    dgx = NvidiaDGX("dgx_h100", nic_device=nic)
    for device in (dgx, nic, transceiver):
        made.devices.append(device)
    made.instances.add(name="host", device=dgx.name, count=3)
    made.links.add(name="rail")
    edge = made.edges.add(scheme="one2one", link="rail")
    edge.ep1.instance, edge.ep1.component = "host[0:2]", f"{nic.name}[0:8].port[0]"
    edge.ep2.instance, edge.ep2.component = "host[2]", f"{nic.name}[0:8].port"
    machine = infragraph_machine(infrastructure_of(yaml_data(made.serialize("yaml"), "x"), "x"), "x", "x")
    assert ours(machine) == expanded(made)


@pytest.mark.parametrize("name", ["dgx1", "dgx_a100", "mi300x", "a100_pcie"])
def test_a_machine_as_a_document_keeps_its_graph(tmp_path: Path, name: str) -> None:
    path = tmp_path / "node.xml"
    path.write_text(getattr(published, name)())
    machine = read_machine(path)
    assert isinstance(machine, Machine)
    latencies = {f"{kind}_latency_ns": "500" for kind in {link.kind for link in machine.links}}
    given = {**latencies, "smp_gbps": "40"}
    files = written_files(machine, Given(given), tmp_path / "node.json", None, path)
    ((written, text),) = files.items()
    written.write_text(text)
    again = read_machine(written)
    assert isinstance(again, Machine)
    assert (again.format, len(again.links)) == ("InfraGraph", len(machine.links))
    used = {key: given[key] for key in given if not key.startswith(("smp", "pcie")) or name == "a100_pcie"}
    graphs = [
        machine_graph(machine, Given(used), "node.xml")[0],
        machine_graph(again, Given(), "node.json")[0],
    ]
    first, second = (
        nx.Graph(
            [
                (source, to, {"gbps": round(float(one.kinds[kind].bandwidth_gbps), 9)})
                for source, to, kind in zip(one.sources, one.destinations, one.kind_of, strict=True)
            ]
        )
        for one in graphs
    )
    assert nx.is_isomorphic(first, second, edge_match=lambda a, b: a == b)


def test_a_machine_as_a_document_is_one_for_the_package(tmp_path: Path) -> None:
    package()
    import infragraph

    path = tmp_path / "node.xml"
    path.write_text(published.dgx_h100())
    machine = read_machine(path)
    assert isinstance(machine, Machine)
    made = infragraph.Api().infrastructure()
    made.deserialize(infragraph_text(infragraph_of(machine), True))
    nodes, links = expanded(made)
    assert (len(nodes), len(links)) == (len(machine.devices), len(machine.links))


SMALL = """name: pair
devices:
- name: box
  components: [{name: xpu, count: 2, choice: xpu}, {name: sw, count: 1, choice: switch}]
  links: [{name: fast, physical: {bandwidth: {choice: gigabits_per_second, gigabits_per_second: 800},
    latency: {choice: us, us: 1.5}}}]
  edges: [{ep1: {component: 'xpu[0:2]'}, ep2: {component: 'sw[0]'}, link: fast, scheme: many2many}]
instances: [{name: host, device: box, count: 1}]
"""


def small(text: str) -> Machine:
    return infragraph_machine(infrastructure_of(yaml_data(text, "x.yaml"), "x.yaml"), "x.yaml", "x")


def test_stated_rates_and_latencies_need_no_key() -> None:
    graph, _ = machine_graph(small(SMALL), Given(), "x.yaml")
    assert (graph.npus, graph.nodes, len(graph)) == (2, 3, 4)
    assert graph.kinds == ((1500, 100),)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("xpu[0:2]", "xpu[0:3]", r"'xpu\[0:3\]' is no slice of its 2"),
        ("xpu[0:2]", "xpu[x]", r"'xpu\[x\]' is no part"),
        ("device: box", "device: bix", "instance host is of the device 'bix', which is not there"),
        ("link: fast", "link: slow", "an edge has the link 'slow', which is not there"),
        ("scheme: many2many", "scheme: ring", "scheme ring is not defined"),
        ("scheme: many2many", "scheme: mesh", "scheme is 'mesh'; allowed are"),
        ("choice: switch", "choice: swatch", "choice is 'swatch'; allowed are"),
        ("count: 2", "count: -2", "count is -2"),
        ("count: 2", "count: 2000000000", "at most 200000 devices"),
        ("gigabits_per_second: 800", "gigabits_per_second: fast", "bandwidth is .* a number of at least 0"),
        ("name: sw,", "name: 'sw.1',", "it must be letters, digits"),
        ("name: sw, count: 1, choice: switch", "name: box, count: 1, choice: device", "contains itself"),
    ],
)
def test_a_mistake_in_a_document_is_named(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        small(SMALL.replace(old, new, 1))


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(  # ten devices in each of ten, twenty levels deep
            [
                "devices:",
                *(
                    f"- {{name: d{at}, components: [{{name: d{at + 1}, count: 10, choice: device}}], "
                    "links: [], edges: []}"
                    for at in range(15)
                ),
                "- {name: d15, components: [{name: xpu, count: 1, choice: xpu}], links: [], edges: []}",
                "instances: [{name: i, device: d0, count: 10}]",
            ]
        ),
        SMALL.replace("count: 2", "count: 90000").replace("xpu[0:2]", "xpu").replace("sw[0]", "xpu"),
        SMALL.replace("host, device: box, count: 1", "host, device: box, count: 190000"),
        SMALL.replace("xpu[0:2]", "sw[0:1]." * 400 + "sw"),
    ],
)
def test_a_short_text_cannot_stand_for_too_many_parts(text: str) -> None:
    with pytest.raises(InputError, match=r"the most allowed|at most \d+ devices|is a device or not there"):
        small(text)


def test_a_document_may_be_json() -> None:
    document = infrastructure_of(yaml_data(SMALL, "x"), "x")
    assert infrastructure_of(json_data(infragraph_text(document, True), "x"), "x") == document


def test_a_fabric_of_hosts_is_a_graph_of_gpus_and_switches(tmp_path: Path) -> None:
    package()
    from infragraph.blueprints.fabrics.closfabric import ClosFabric

    path = tmp_path / "clos.yaml"
    path.write_text(ClosFabric().serialize("yaml"))
    machine = read_machine(path)
    assert isinstance(machine, Machine)
    rates = {"nvlink_gbps": "50", "pcie_gbps": "32", "ic_gbps": "1000"}
    times = {f"{kind}_latency_ns": "100" for kind in ("nvlink", "pcie", "ic", "leaf_link", "spine_link")}
    graph, found = machine_graph(machine, Given({**rates, **times}), "clos.yaml")
    kinds = [machine.devices[number].kind for number in found.others]
    assert (graph.npus, graph.nodes, kinds.count("switch"), kinds.count("cpu")) == (8, 23, 8, 7)
    bandwidths = {kind.bandwidth_gbps for kind in graph.kinds}
    assert bandwidths == {50, 32, 25}  # two NICs of 100 Gb/s from a host to its leaf; 400 Gb/s to each spine
    latencies = {kind.latency_ns for kind in graph.kinds if kind.bandwidth_gbps == 25}
    assert latencies == {300}  # PCIe, the cable, and the port inside the leaf
