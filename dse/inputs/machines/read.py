"""Documents that describe machines, recognised by what they hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from dse.base.errors import InputError, excerpt
from dse.base.files import read_bytes, read_text
from dse.base.plain_data import json_data, yaml_data
from dse.base.xml_files import read_xml
from dse.inputs.machines.infragraph import Infrastructure, infrastructure_of, is_infragraph
from dse.inputs.machines.infragraph_parts import infragraph_machine
from dse.inputs.machines.lstopo import lstopo_machine
from dse.inputs.machines.machine import Machine
from dse.inputs.machines.nccl import nccl_machine
from dse.inputs.machines.nccl_graphs import nccl_graph_machine
from dse.inputs.machines.nccl_tests import CollectiveTimes, is_nccl_tests, read_collective_times
from dse.inputs.machines.nvidia_smi import is_topology_matrix, nvidia_smi_machine
from dse.inputs.machines.slurm import HostTree, conf_lines, host_tree, is_slurm_topology, is_slurm_yaml

Document: TypeAlias = "Machine | HostTree | CollectiveTimes"

_XML = {"system": nccl_machine, "graphs": nccl_graph_machine, "topology": lstopo_machine}
FORMATS = (
    "nvidia-smi topo -m, NCCL's topology or graph XML, XML of lstopo, InfraGraph in YAML or JSON, Slurm's "
    "topology.conf or topology.yaml, or output of nccl-tests"
)


def read_machine(path: Path) -> Document:
    """Return what a document says: of a machine, of a tree of hosts, or of times of a collective.

    Raises:
        InputError: the file is unreadable, none of `FORMATS`, or malformed; names file and place.
    """
    name = path.name.partition(".")[0] or "machine"
    head = read_bytes(path)[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"<"):
        root = read_xml(path)
        if root.tag not in _XML:
            allowed = ", ".join(f"<{tag}>" for tag in _XML)
            raise InputError(f"{path}: is XML of <{excerpt(root.tag)}>; allowed are {allowed}")
        return _XML[root.tag](root, str(path), name)
    text = read_text(path)
    if is_nccl_tests(text):
        return read_collective_times(path)
    if is_topology_matrix(text):
        return nvidia_smi_machine(text, str(path), name)
    if is_slurm_topology(text):
        return host_tree(text, str(path), name)
    if path.suffix in (".yaml", ".yml") and is_slurm_yaml(data := yaml_data(text, str(path))):
        lines, notes = conf_lines(data, str(path))
        tree = host_tree(lines, f"{path}: as a topology.conf", name)
        return replace(tree, notes=(*tree.notes, *notes))
    document = infragraph_document(path)
    if document is None:
        raise InputError(f"{path}: is no description of a machine; allowed are {FORMATS}")
    return infragraph_machine(document, str(path), name)


def infragraph_document(path: Path) -> Infrastructure | None:
    """Return the InfraGraph document of a file; None for another YAML or JSON.

    Raises:
        InputError: unreadable or malformed.
    """
    text = read_text(path)
    is_json = text.lstrip().startswith("{")
    data = json_data(text, str(path)) if is_json else yaml_data(text, str(path))
    return infrastructure_of(data, str(path)) if is_infragraph(data) else None
