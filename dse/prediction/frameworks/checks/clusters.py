"""The cluster of a check: so many accelerators of a system of conf/system, of a file, or by their name."""

from __future__ import annotations

from pathlib import Path

from dse.base.errors import InputError
from dse.base.files import conf_names
from dse.base.suggestions import unknown
from dse.base.texts import excerpt
from dse.inputs.accelerators import Cluster, accelerator
from dse.inputs.accelerators.cluster import cluster
from dse.inputs.accelerators.systems import ClusterFile, cluster_file
from dse.prediction.measured.hardware import cluster_of_npus, system_of


def cluster_of_name(system: str, npus: int, assumed: list[str]) -> Cluster:
    """Return `npus` accelerators of a system: a name of conf/system, or a YAML file like those.

    Whole nodes keep all tiers; other numbers fill nodes in part.

    Raises:
        InputError: there is no such system, or it is no cluster.
    """
    file = _file(system)
    if npus % file.npus_per_node == 0:
        return _nodes(file, npus // file.npus_per_node)
    return cluster_of_npus(_nodes(file, 2), npus, assumed)


def cluster_of_gpu(gpu: str, npus: int, assumed: list[str]) -> Cluster:
    """Return `npus` accelerators of a type, with the nodes and links that these usually have.

    Raises:
        InputError: the accelerator is unknown.
    """
    name, _ = system_of(gpu, assumed)
    assumed.append(f"nodes and links of {name}")
    return cluster_of_name(name, npus, assumed)


def _file(system: str) -> ClusterFile:
    if system.endswith((".yaml", ".yml")):
        return cluster_file(Path(system))
    known = conf_names("system")
    if system not in known:
        listing = f"conf/system has {', '.join(known)}"
        raise InputError(unknown(f"system is '{excerpt(system)}', which is unknown", system, known, listing))
    return cluster_file(system)


def _nodes(file: ClusterFile, nodes: int) -> Cluster:
    chip = accelerator(file.accelerator, "system.accelerator")
    return cluster(file.name, chip, nodes, file.npus_per_node, file.tiers)
