"""Documents of machines as files that `dse` takes: a system, a cluster, a graph; or as InfraGraph."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from dse.base.errors import InputError
from dse.base.settings import check_choice
from dse.inputs.machines.clusters import hosts_cluster, machine_cluster
from dse.inputs.machines.given import Given
from dse.inputs.machines.graphs import copies, machine_graph
from dse.inputs.machines.host_systems import hosts_text, measured_text
from dse.inputs.machines.infragraph import (
    Component,
    Custom,
    DeviceType,
    Edge,
    End,
    Infrastructure,
    Instance,
    LinkType,
    Physical,
    Quantity,
    infragraph_text,
)
from dse.inputs.machines.kinds import YAML
from dse.inputs.machines.machine import CPU, GPU, NIC, SWITCH, Machine
from dse.inputs.machines.rates import gbps_of, latency_of
from dse.inputs.machines.read import Document, infragraph_document
from dse.inputs.machines.slurm import HostTree
from dse.inputs.machines.systems import MOST_COPIES, system_files
from dse.inputs.networks.csv import link_graph_csv

FORMS = ("system", "cluster", "graph", "infragraph")
_FORM_OF = {".csv": "graph", ".json": "infragraph", ".yaml": "system", ".yml": "system"}
_ENDINGS = {"graph": (".csv",), "infragraph": (".json", *YAML), "system": YAML, "cluster": YAML}


def written_files(
    document: Document, given: Given, output: Path, form: str | None, source: Path
) -> dict[Path, str]:
    """Return the texts of the files that a document becomes; `form` is one of `FORMS`.

    Without it the ending of `output` says it. A system with unequal links brings its graph. A
    document of InfraGraph stays what it is.

    Raises:
        InputError: the ending is that of another form, the document cannot become it, or does not say all
            that is needed and `given` lacks it: names all missing keys.
    """
    form = form or _FORM_OF.get(output.suffix)
    if form is not None:
        check_choice("as", form, FORMS)
    if form is None or output.suffix not in _ENDINGS[form]:
        ways = ", ".join(_ENDINGS[form] if form else _FORM_OF)
        raise InputError(f"-o is '{output}'; its ending must be one of {ways}")
    where = str(source)
    if not isinstance(document, Machine):
        if form == "cluster" and isinstance(document, HostTree):
            return {output: hosts_cluster(document, given, output, where)}
        if form != "system":
            what = "a tree of hosts" if isinstance(document, HostTree) else "a table of times"
            raise InputError(f"{where} is {what}, which becomes a system, -o FILE.yaml, but no {form}")
        if isinstance(document, HostTree):
            return {output: hosts_text(document, given, output, where)}
        return {output: measured_text(document, given, output, where)}
    if form == "infragraph":
        own = infragraph_document(source) if document.format == "InfraGraph" else None
        whole = own or infragraph_of(_with_known_rates(document, given))
        given.require(where)
        return {output: infragraph_text(whole, output.suffix == ".json")}
    if form == "cluster":
        return {output: machine_cluster(document, given, output, where)}
    if form == "system":
        return system_files(document, given, output, where)
    nodes = given.count("nodes", "machines of this kind", 1, MOST_COPIES) or 1
    joined = copies(document, nodes, given, where) if nodes > 1 else document
    return {output: link_graph_csv(machine_graph(joined, given, where)[0])}


def _with_known_rates(machine: Machine, given: Given) -> Machine:
    """With rates and latencies that are published or given; none is needed."""
    asked = Given(given.texts)
    links = tuple(
        replace(link, gbps=gbps_of(link, machine, asked), latency_ns=latency_of(link, asked))
        for link in machine.links
    )
    given.used |= asked.used
    given.taken += [note for note in asked.taken if note not in given.taken]
    return replace(machine, links=links)


_NAMES = {GPU: "xpu"}
_CHOICES = {GPU: "xpu", NIC: "nic", CPU: "cpu", SWITCH: "switch", "port": "port", "memory": "memory"}


def infragraph_of(machine: Machine) -> Infrastructure:
    """Return a machine as a document of one device: a component for each kind, an edge for each link.

    The count of a bundle is in the name of its link, such as nvlink-x2; its rate is that of all of them.
    """
    place: dict[int, str] = {}
    counts: dict[str, int] = {}
    for number, device in enumerate(machine.devices):
        kind = _clean(_NAMES.get(device.kind, device.kind))
        place[number] = f"{kind}[{counts.get(kind, 0)}]"
        counts[kind] = counts.get(kind, 0) + 1
    kinds = {_clean(_NAMES.get(device.kind, device.kind)): device.kind for device in machine.devices}
    types = {device.accelerator for device in machine.devices if device.accelerator}
    components = tuple(
        Component(
            name,
            count,
            _CHOICES.get(kinds[name], "custom"),
            " ".join(sorted(types)) if kinds[name] == GPU and types else None,
            None if kinds[name] in _CHOICES else Custom(kinds[name]),
        )
        for name, count in counts.items()
    )
    links: dict[tuple[str, int, Fraction | None, Fraction | None], LinkType] = {}
    edges = []
    for link in machine.links:
        key = (link.kind, link.count, link.gbps, link.latency_ns)
        if key not in links:
            links[key] = _link_type(*key, len([kind for kind, *_ in links if kind == link.kind]))
        ends = [End(place[number]) for number in link.ends]
        edges.append(Edge(ends[0], ends[1], links[key].name, "one2one"))
    name = _clean(machine.name) or "machine"
    whole = DeviceType(name, components, tuple(links.values()), tuple(edges))
    instances = (Instance(name, name, 1),)
    return Infrastructure(name, f"from {machine.format}", (whole,), instances=instances)


def _link_type(
    kind: str, count: int, gbps: Fraction | None, latency: Fraction | None, number: int
) -> LinkType:
    rate = None if gbps is None else Quantity("gigabytes_per_second", float(gbps))
    time = None if latency is None else Quantity("ns", float(latency))
    name = _clean(kind) if count == 1 and not number else f"{_clean(kind)}-x{count}"
    if number:
        name += f"-{number}"
    physical = None if rate is None and time is None else Physical(rate, time)
    return LinkType(name, f"{count} of {kind}", physical)


def _clean(text: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "-", text)[:200]
