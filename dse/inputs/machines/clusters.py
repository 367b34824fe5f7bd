"""Machines and trees of hosts as clusters for plans: groups of equal nodes, as the files of conf/cluster."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from dse.base.errors import InputError, excerpt
from dse.inputs.machines.given import Given
from dse.inputs.machines.graphs import nics_of
from dse.inputs.machines.machine import NIC, Machine
from dse.inputs.machines.nodes import node_of
from dse.inputs.machines.rates import accelerator_of
from dse.inputs.machines.reduced import reduced
from dse.inputs.machines.slurm import HostTree
from dse.inputs.machines.systems import told_lines

_GBIT_PER_GB = 8


def machine_cluster(machine: Machine, given: Given, path: Path, where: str) -> str:
    """Return one group of nodes; a GPU has the sum of its links, the node that of its NICs.

    Raises:
        InputError: GPUs have unequal links, or keys are missing.
    """
    found = reduced(machine, given, where, with_latencies=False)
    count = given.count("nodes", "machines of this kind", 1) or 1
    chip = accelerator_of(machine, given)
    sums = {
        gpu: sum((wire.gbps or Fraction(0)) for (one, _), wire in found.wires.items() if one == gpu)
        for gpu in found.gpus
    }
    if machine.of_kind(NIC) and "nics_per_node" not in given.texts:
        nics, rate = nics_of(machine, given)
        number: int | None = len(nics)
    else:
        number = given.count("nics_per_node", "NICs that the GPUs of a machine share")
        rate = given.number("nic_gbit_per_s", "10^9 bits/s of one NIC in one direction")
    given.require(where)
    if len(set(sums.values())) > 1:
        raise InputError(f"{where}: GPUs send at unequal rates, which no group of nodes has; write a graph")
    inter = (number or 0) * (rate or Fraction(0)) / _GBIT_PER_GB
    lines = [
        *told_lines(Path(where).name, machine.format, (*machine.notes, *given.taken)),
        f"name: {path.stem}",
        "nodes:",
        f"  - {{accelerator: {chip}, count: {count}, gpus: {len(found.gpus)}, "
        f"intra_gbps: {float(sums[found.gpus[0]]):.10g}, inter_gbps: {float(inter):.10g}}}",
    ]
    return "\n".join([*lines, ""])


def hosts_cluster(tree: HostTree, given: Given, path: Path, where: str) -> str:
    """Return a group of nodes for each leaf, each an island.

    Raises:
        InputError: keys are missing.
    """
    node = node_of(given, with_latencies=False)
    is_split = len(tree.leaves) > 1
    between = (
        given.number("between_islands_gbps", "10^9 bytes/s in one direction between two leaves")
        if is_split
        else None
    )
    given.require(where)
    assert node.inside is not None
    inter = (node.nics or 0) * (node.nic_gbit_per_s or 0) / _GBIT_PER_GB
    lines = [
        *told_lines(Path(where).name, f"Slurm topology/{tree.kind}", (*tree.notes, *given.taken)),
        f"name: {path.stem}",
        *([f"between_islands_gbps: {float(between or 0):g}"] if is_split else []),
        "nodes:",
    ]
    for island, (leaf, hosts) in enumerate(tree.leaves):
        lines.append(
            f"  - {{accelerator: {node.accelerator}, count: {len(hosts)}, gpus: {node.gpus}, "
            f"intra_gbps: {node.inside.bandwidth_gbps:g}, inter_gbps: {inter:g}, island: {island}}}"
            f"  # {excerpt(leaf)}"
        )
    return "\n".join([*lines, ""])
