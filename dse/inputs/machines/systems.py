"""A machine as a system: tiers where every GPU reaches all others alike, else a graph of its links."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from pathlib import Path

from dse.base.errors import InputError
from dse.base.texts import printable
from dse.inputs.accelerators import accelerator
from dse.inputs.machines.given import Given
from dse.inputs.machines.graphs import NETWORK, copies, machine_graph, nics_of
from dse.inputs.machines.machine import NIC, Machine
from dse.inputs.machines.rates import accelerator_of
from dse.inputs.machines.reduced import Reduced, Wire, reduced
from dse.inputs.networks.csv import link_graph_csv

_COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
MOST_COPIES = 2**14
"""Equal machines that one graph or system joins."""
_SIMULATED = (
    "a system of a graph is simulated, its step as one micro-batch unless model.micro_batches=N; for steps "
    "of large models take a system with tiers, such as dgx_h100, or dse plan and as=cluster"
)
_NAMES = {"nvlink": "NVLink", "xgmi": "InfinityFabric", "pcie": "PCIe"}


def system_files(machine: Machine, given: Given, path: Path, where: str) -> dict[Path, str]:
    """Return the texts of a system file, and of the graph that it names, if any.

    Raises:
        InputError: as `machine_graph`, or the type of GPU is missing or unknown.
    """
    nodes = given.count("nodes", "machines of this kind", 1, MOST_COPIES) or 1
    probe = Given(given.texts)
    shape = _shape(reduced(machine, probe, where)) if len(machine.gpus) > 1 else None
    if shape is not None and _is_of_one_type(machine, given):
        return {path: _tiers(machine, given, nodes, path, where)}
    whole = copies(machine, nodes, given, where) if nodes > 1 else machine
    types = _types(whole, given)
    graph, found = machine_graph(whole, given, where)
    csv = path.with_suffix(".csv")
    given.take(_SIMULATED)
    lines = [
        *_head(machine, given, path, where),
        "network_model: congestion_aware",
        "network:",
        f"  - {{topology: Graph, npus: {graph.npus}, bandwidth_gbps: 1, latency_ns: 0, "
        f"file: {_quoted(csv.name)}}}",
        "collectives:",
        *(f"  {kind}: [ring]" for kind in _COLLECTIVES),
        "npu_types:",
        *types,
    ]
    if len(types) > 1:
        lines.append("issue_order: safe")
    nodes_of = [whole.devices[number].name for number in found.others]
    told = f"Nodes of {csv.name}: {graph.npus} GPUs, then {', '.join(nodes_of[:20]) or 'none'}"
    lines.insert(1, f"# {printable(told)}.")
    return {path: "\n".join([*lines, ""]), csv: link_graph_csv(graph)}


def _shape(found: Reduced) -> tuple[Wire, int, int] | None:
    """A wire of a GPU, how many it has, and the hops to another, where all GPUs are alike; else None."""
    wires = set(found.wires.values())
    count = len(found.gpus)
    if len(wires) != 1:
        return None
    wire = wires.pop()
    ends = {(one in found.gpus, other in found.gpus) for one, other in found.wires}
    if len(found.others) == 1 and ends == {(True, False), (False, True)} and len(found.wires) == 2 * count:
        return wire, 1, 2
    if not found.others and len(found.wires) == count * (count - 1):
        return wire, count - 1, 1
    return None


def _is_of_one_type(machine: Machine, given: Given) -> bool:
    own = {machine.devices[number].accelerator for number in machine.gpus}
    return "accelerator" in given.texts or len(own) == 1


def _tiers(machine: Machine, given: Given, nodes: int, path: Path, where: str) -> str:
    shape = _shape(reduced(machine, given, where))
    chip = accelerator_of(machine, given)
    assert shape is not None
    wire, links, hops = shape
    network = _network(machine, given) if nodes > 1 else []
    given.require(where)
    if chip is not None:
        accelerator(chip, "machine.accelerator")
    rate, latency = wire.gbps or Fraction(0), wire.latency_ns or Fraction(0)
    spread = f"  # {links} links of {_text(rate)} GB/s, one to each other GPU" if links > 1 else ""
    lines = [
        *_head(machine, given, path, where),
        f"accelerator: {chip}",
        f"nodes: {nodes}",
        f"npus_per_node: {len(machine.gpus)}",
        "tiers:",
        f"  - {{name: {_NAMES.get(wire.kind, wire.kind)}, bandwidth_gbps: {_text(rate * links)}, "
        f"latency_us: {_text(latency * hops / 1000)}}}{spread}",
        *network,
    ]
    return "\n".join([*lines, ""])


def _network(machine: Machine, given: Given) -> list[str]:
    """The tier between machines: as many NICs as the document names, or as the user says."""
    count: int | None = None
    if machine.of_kind(NIC) and "nics_per_node" not in given.texts:
        nics, rate = nics_of(machine, given)
        count = len(nics) or None
    else:
        count = given.count("nics_per_node", "NICs that the GPUs of a machine share")
        rate = given.number("nic_gbit_per_s", "10^9 bits/s of one NIC in one direction")
    latency = given.number("network_latency_ns", "ns of a message between machines", is_zero_allowed=True)
    if count is None or rate is None or latency is None:
        return []
    return [
        f"  - {{name: {NETWORK}, nics_per_node: {count}, nic_gbit_per_s: {_text(rate)}, "
        f"latency_us: {_text(latency / 1000)}}}"
    ]


def _types(machine: Machine, given: Given) -> list[str]:
    """The lines of the types of NPUs, in the order of the GPUs."""
    own = [machine.devices[number].accelerator for number in machine.gpus]
    if "accelerator" in given.texts or not all(own) or len(set(own)) == 1:
        chosen = accelerator_of(machine, given)
        own = [chosen or ""] * len(own)
    lines = []
    runs = [(name, len(list(run))) for name, run in groupby(own)]
    for at, (name, count) in enumerate(runs):
        if not name:
            continue
        chip = accelerator(name, "machine.accelerator")
        peak = chip.peak_tflops.get("bf16") or chip.peak_tflops["fp16"]
        label = chip.name if len(runs) == len(set(runs)) else f"{chip.name}-{at}"
        lines.append(
            f"  - {{name: {label}, npus: {count}, peak_tflops: {peak:g}, "
            f"memory_bandwidth_gbps: {chip.memory_bandwidth_gbps:g}, "
            f"memory_bytes: {chip.usable_memory_bytes}}}"
        )
    return lines


def _head(machine: Machine, given: Given, path: Path, where: str) -> list[str]:
    """Where a file is from, what was taken from elsewhere, and its name."""
    name = path.stem
    if not name.replace("_", "").replace("-", "").replace(".", "").isalnum():
        raise InputError(f"-o is '{path}'; a system has its name: letters, digits, -, _ and .")
    notes = (*machine.notes, *given.taken)
    return [*told_lines(Path(where).name, machine.format, notes), f"name: {name}"]


def told_lines(document: str, form: str, notes: Sequence[str]) -> list[str]:
    """Return comments that say where a file is from, and what was taken from elsewhere."""
    lines = [f"From {document} ({form}), by dse system show", *notes]
    return [f"# {printable(line)}." for line in lines]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _text(value: Fraction) -> str:
    return f"{float(value):.10g}"
