"""Trees of hosts (Slurm) and measured collectives (nccl-tests) as systems."""

from __future__ import annotations

from pathlib import Path

from dse.base.errors import InputError
from dse.inputs.accelerators import TierSpec, accelerator
from dse.inputs.machines.clusters import hosts_cluster
from dse.inputs.machines.given import Given
from dse.inputs.machines.nccl_tests import CollectiveTimes
from dse.inputs.machines.nodes import inside_of, node_of
from dse.inputs.machines.slurm import HostTree
from dse.inputs.machines.systems import told_lines


def hosts_text(tree: HostTree, given: Given, path: Path, where: str) -> str:
    """Return a system file where all leaves are alike, else a file for `dse plan` with an island per leaf.

    Raises:
        InputError: keys are missing.
    """
    sizes = [len(hosts) for _, hosts in tree.leaves]
    if len(set(sizes)) > 1 and len(sizes) > 1:
        return hosts_cluster(tree, given, path, where)
    node = node_of(given)
    levels = [len(joined) for joined in _equal_levels(tree, where)]
    upper = []
    for at, _ in enumerate(levels, 2):
        share = given.number(
            f"level{at}_oversubscription", f"how much slower level {at} is than the one below, 1 or more"
        )
        latency = given.number(
            f"level{at}_latency_us", f"us of a message over level {at}", is_zero_allowed=True
        )
        upper.append((share, latency))
    given.require(where)
    gpus = node.gpus or 1
    units = [sizes[0], *(sizes[0] * count for count in levels)]
    if units[-1] != tree.hosts:
        raise InputError(f"{where}: no switch joins all {tree.hosts} nodes; a system needs one")
    lines = [
        *_head(tree.notes, given, path, where, f"Slurm topology/{tree.kind}"),
        f"accelerator: {node.accelerator}",
        f"nodes: {tree.hosts}",
        f"npus_per_node: {gpus}",
        "tiers:",
        _tier(node.inside),
        f"  - {{name: leaf, npus: {units[0] * gpus}, nics_per_node: {node.nics}, "
        f"nic_gbit_per_s: {node.nic_gbit_per_s:g}, latency_us: {node.network_us:g}}}",
    ]
    for at, ((share, latency), unit) in enumerate(zip(upper, units[1:], strict=True), 2):
        lines.append(
            f"  - {{name: level{at}, npus: {unit * gpus}, oversubscription: {float(share or 1):g}, "
            f"latency_us: {float(latency or 0):g}}}"
        )
    return "\n".join([*lines, ""])


def measured_text(times: CollectiveTimes, given: Given, path: Path, where: str) -> str:
    """Return a system whose links are those that nccl-tests measured, by the line that fits their times.

    Several hosts measure the links between them, so the tier inside is asked for.

    Raises:
        InputError: keys are missing, or the times tell no line.
    """
    line = times.line()
    hosts = list(dict.fromkeys(times.hosts))
    each = {times.hosts.count(host) for host in hosts}
    if len(each) > 1:
        raise InputError(f"{where}: hosts have unequal numbers of GPUs; a system has equal nodes")
    chip = given.text("accelerator", "a type of conf/accelerator, or a file", times.accelerator or None)
    inside = inside_of(given) if len(hosts) > 1 else None
    given.require(where)
    if chip:
        accelerator(chip, "machine.accelerator")
    rate = line.gbps * times.bus_factor
    measured = (
        f"  - {{name: measured, bandwidth_gbps: {rate:.6g}, latency_us: {line.start_us / times.steps:.4g}}}"
    )
    notes = [
        f"{times.operation} among {times.ranks}: {line.words}; the bandwidth is what a ring sends, with its "
        "losses"
    ]
    lines = [
        *_head(notes, given, path, where, "nccl-tests"),
        f"accelerator: {chip}",
        f"nodes: {len(hosts)}",
        f"npus_per_node: {each.pop()}",
        "tiers:",
        *([_tier(inside)] if inside is not None else []),
        measured,
    ]
    return "\n".join([*lines, ""])


def _tier(tier: TierSpec | None) -> str:
    if tier is None:
        return ""
    return (
        f"  - {{name: {tier.name}, bandwidth_gbps: {tier.bandwidth_gbps:g}, latency_us: {tier.latency_us:g}}}"
    )


def _equal_levels(tree: HostTree, where: str) -> list[tuple[int, ...]]:
    """For each level above the leaves, those that its first switch joins; all of a level join as many."""
    found: list[tuple[int, ...]] = []
    if tree.kind == "block" and len(tree.leaves) > 1:
        return [tuple(range(len(tree.leaves)))]
    below = 1
    for level in tree.levels:
        counts = {len(joined) for _, joined in level}
        if len(counts) > 1 or (size := counts.pop()) % below:
            raise InputError(
                f"{where}: switches of a level join unequal numbers of nodes, which no tier does"
            )
        if size > below:
            found.append(level[0][1])
            below = size
    return found


def _head(notes: tuple[str, ...] | list[str], given: Given, path: Path, where: str, form: str) -> list[str]:
    return [*told_lines(Path(where).name, form, (*notes, *given.taken)), f"name: {path.stem}"]
