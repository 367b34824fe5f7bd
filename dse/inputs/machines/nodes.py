"""A node that a document does not describe: a system of conf/system or a file, or figures by keys."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dse.base.errors import InputError, excerpt
from dse.base.files import conf_file, conf_names
from dse.base.record_files import yaml_values
from dse.base.settings import check_choice
from dse.inputs.accelerators import TierSpec, accelerator
from dse.inputs.accelerators.systems import cluster_file
from dse.inputs.machines.given import PREFIX, Given
from dse.inputs.machines.kinds import YAML


@dataclass(frozen=True)
class Node:
    """A node: type and number of GPUs, the tier inside, and NICs; None where asked for."""

    accelerator: str | None
    gpus: int | None
    inside: TierSpec | None
    nics: int | None
    nic_gbit_per_s: float | None
    network_us: float | None


def node_of(given: Given, *, with_latencies: bool = True) -> Node:
    """Return the node that keys describe: a system by its name or file, or its figures one by one.

    Raises:
        InputError: the system or the type of GPU is unknown, or a value is none.
    """
    name = given.texts.get("system")
    if name is not None:
        given.used.add("system")
        file = cluster_file(_file(name))
        network = next((tier for tier in file.tiers[1:] if tier.nics_per_node is not None), None)
        what = "nodes, NICs and their latencies" if with_latencies else "nodes and NICs"
        given.take(f"{what} are those of the system {file.name}")
        nics = given.count("nics_per_node", "NICs of a node", network.nics_per_node if network else None)
        rate = given.number("nic_gbit_per_s", "10^9 bits/s of one NIC") if network is None else None
        stated = network.nic_gbit_per_s if network else None
        time = None
        if network is None and with_latencies:
            time = given.number("network_latency_us", "us of a message between nodes")
        return Node(
            file.accelerator,
            file.npus_per_node,
            file.tiers[0],
            nics,
            stated if rate is None else float(rate),
            network.latency_us if network else float(time) if time is not None else None,
        )
    chip = given.text(
        "accelerator", "a type of conf/accelerator; or machine.system, a node like that of conf/system"
    )
    gpus = given.count("gpus_per_node", "GPUs of a node")
    inside = inside_of(given, with_latencies=with_latencies)
    nics = given.count("nics_per_node", "NICs that the GPUs of a node share")
    rate = given.number("nic_gbit_per_s", "10^9 bits/s of one NIC in one direction")
    latency: Fraction | None = Fraction(0)
    if with_latencies:
        latency = given.number("network_latency_us", "us of a message between nodes", is_zero_allowed=True)
    if chip:
        accelerator(chip, "machine.accelerator")
    return Node(
        chip,
        gpus,
        inside,
        nics,
        None if rate is None else float(rate),
        None if latency is None else float(latency),
    )


def _file(name: str) -> Path:
    """The file of a system by its name in conf/system, or by its path.

    Raises:
        InputError: no such file, or its system has no tiers, whose first is the inside of a node.
    """
    path = Path(name).expanduser()
    if "/" not in name and path.suffix not in YAML:
        check_choice(f"{PREFIX}system", name, conf_names("system"))
        path = conf_file("system", name)
    if not yaml_values(path, "system").get("tiers"):
        raise InputError(
            f"{PREFIX}system={excerpt(name)}: has no tiers; a node is one of a system with tiers, such as "
            "dgx_h100, whose GPUs all reach each other alike, not one of a graph"
        )
    return path


def inside_of(given: Given, *, with_latencies: bool = True) -> TierSpec | None:
    """Return the tier inside a node; None where keys are missing."""
    rate = given.number("intra_gbps", "10^9 bytes/s of a GPU inside its node in one direction")
    latency: Fraction | None = Fraction(0)
    if with_latencies:
        latency = given.number("intra_latency_us", "us of a message inside a node", is_zero_allowed=True)
    if rate is None or latency is None:
        return None
    return TierSpec("node", float(latency), bandwidth_gbps=float(rate))
